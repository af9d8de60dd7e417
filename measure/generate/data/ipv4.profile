# The IPv4 table of RouteViews, RIB of 2014-05-13 06:00 UTC as pyasn's ipasn_20140513_v12.dat has it: 512,490 prefixes.
# Made by heddle gen profile.
family ipv4
block 1 752
block 2 122
block 3 6
block 4 1
block 5 1663
block 6 27
block 8 1
block 10 1
block 12 1
block 13 48
block 14 450
block 15 1
block 16 1
block 17 1
block 18 1
block 20 80
block 23 1396
block 24 2625
block 25 1
block 27 1270
block 31 1835
block 32 1
block 33 2
block 34 9
block 35 5
block 36 176
block 37 2769
block 38 1
block 39 36
block 40 303
block 41 1819
block 42 380
block 43 3
block 44 1
block 46 3411
block 47 16
block 49 1155
block 50 761
block 52 18
block 53 1
block 54 304
block 55 1
block 56 6
block 57 1
block 58 370
block 59 273
block 60 175
block 61 903
block 62 1159
block 63 342
block 64 2978
block 65 984
block 66 3151
block 67 1842
block 68 1016
block 69 2886
block 70 549
block 71 852
block 72 1691
block 73 1
block 74 2321
block 75 691
block 76 477
block 77 1680
block 78 983
block 79 842
block 80 1640
block 81 1236
block 82 933
block 83 791
block 84 659
block 85 1504
block 86 634
block 87 890
block 88 572
block 89 2658
block 90 226
block 91 7695
block 92 846
block 93 1977
block 94 2503
block 95 1444
block 96 784
block 97 417
block 98 467
block 99 103
block 100 106
block 101 750
block 102 1
block 103 5203
block 104 5
block 105 201
block 106 493
block 107 547
block 108 913
block 109 2177
block 110 751
block 111 839
block 112 577
block 113 923
block 114 721
block 115 1007
block 116 1050
block 117 1064
block 118 899
block 119 966
block 120 337
block 121 479
block 122 1376
block 123 1105
block 124 987
block 125 504
block 126 1
block 128 561
block 129 350
block 130 382
block 131 376
block 132 159
block 133 198
block 134 355
block 135 125
block 136 158
block 137 376
block 138 423
block 139 233
block 140 276
block 141 625
block 142 502
block 143 463
block 144 374
block 145 258
block 146 756
block 147 564
block 148 656
block 149 495
block 150 234
block 151 752
block 152 134
block 153 181
block 154 169
block 155 579
block 156 403
block 157 359
block 158 376
block 159 881
block 160 284
block 161 440
block 162 2093
block 163 243
block 164 445
block 165 562
block 166 274
block 167 597
block 168 845
block 169 122
block 170 889
block 171 294
block 172 167
block 173 1951
block 174 394
block 175 486
block 176 1787
block 177 2642
block 178 2527
block 179 901
block 180 1105
block 181 2071
block 182 762
block 183 474
block 184 692
block 185 3551
block 186 3633
block 187 1953
block 188 2594
block 189 1679
block 190 6650
block 191 519
block 192 8091
block 193 6789
block 194 4616
block 195 4493
block 196 1140
block 197 568
block 198 5171
block 199 5934
block 200 5056
block 201 2678
block 202 7340
block 203 6650
block 204 3782
block 205 2101
block 206 1762
block 207 1407
block 208 3355
block 209 2187
block 210 2001
block 211 959
block 212 2205
block 213 2157
block 214 1
block 215 1
block 216 4224
block 217 2026
block 218 406
block 219 426
block 220 612
block 221 372
block 222 170
block 223 647
class - 8 16 16
class - 9 4 4
class 8 9 8 4
class - 10 30 29
class - 11 87 61
class 10 11 3 2
class - 12 236 109
class 8 12 4 1
class 9 12 2 2
class 10 12 1 1
class 11 12 16 9
class - 13 409 125
class 8 13 3 1
class 9 13 1 1
class 11 13 22 9
class 12 13 52 30
class - 14 869 160
class 8 14 1 1
class 9 14 8 2
class 10 14 3 2
class 11 14 6 4
class 12 14 14 10
class 13 14 70 45
class - 15 1378 164
class 8 15 10 3
class 9 15 38 3
class 10 15 22 4
class 11 15 19 8
class 12 15 25 14
class 13 15 48 25
class 14 15 185 130
class - 16 9918 180
class 8 16 335 9
class 9 16 74 5
class 10 16 526 14
class 11 16 350 24
class 12 16 450 53
class 13 16 325 86
class 14 16 470 192
class 15 16 567 350
class - 17 4191 174
class 8 17 10 3
class 9 17 11 4
class 10 17 159 9
class 11 17 161 16
class 12 17 112 29
class 13 17 100 36
class 14 17 170 89
class 15 17 182 94
class 16 17 1952 1140
class - 18 6857 176
class 8 18 24 4
class 9 18 17 6
class 10 18 128 10
class 11 18 266 15
class 12 18 117 27
class 13 18 143 39
class 14 18 524 112
class 15 18 339 126
class 16 18 1856 767
class 17 18 1639 947
class - 19 14270 176
class 8 19 39 6
class 9 19 36 6
class 10 19 78 10
class 11 19 444 21
class 12 19 615 40
class 13 19 362 65
class 14 19 1667 157
class 15 19 788 180
class 16 19 3309 919
class 17 19 914 459
class 18 19 2403 1398
class - 20 18779 177
class 8 20 123 6
class 9 20 60 6
class 10 20 119 9
class 11 20 909 22
class 12 20 785 44
class 13 20 905 74
class 14 20 1277 139
class 15 20 1161 190
class 16 20 3679 865
class 17 20 1281 478
class 18 20 2951 1030
class 19 20 3775 2251
class - 21 19972 179
class 8 21 99 5
class 9 21 126 7
class 10 21 71 6
class 11 21 512 23
class 12 21 538 48
class 13 21 449 74
class 14 21 845 132
class 15 21 978 169
class 16 21 3592 870
class 17 21 1681 502
class 18 21 1562 667
class 19 21 2462 1291
class 20 21 4721 2824
class - 22 26602 179
class 8 22 225 7
class 9 22 171 8
class 10 22 48 3
class 11 22 448 24
class 12 22 851 51
class 13 22 1217 97
class 14 22 1243 143
class 15 22 1386 184
class 16 22 9173 1054
class 17 22 2621 572
class 18 22 2707 840
class 19 22 3350 1398
class 20 22 3200 1638
class 21 22 4525 2755
class - 23 20030 177
class 8 23 385 5
class 9 23 331 8
class 10 23 64 5
class 11 23 453 19
class 12 23 761 43
class 13 23 976 97
class 14 23 1170 133
class 15 23 1420 183
class 16 23 4714 942
class 17 23 2118 552
class 18 23 2123 764
class 19 23 3334 1374
class 20 23 2920 1571
class 21 23 2368 1343
class 22 23 4208 2632
class - 24 121569 184
class 8 24 2460 9
class 9 24 2582 9
class 10 24 439 10
class 11 24 1635 25
class 12 24 2462 65
class 13 24 3839 147
class 14 24 4462 195
class 15 24 4915 287
class 16 24 23943 2065
class 17 24 11017 1128
class 18 24 11816 1680
class 19 24 19614 3589
class 20 24 20908 4811
class 21 24 15442 4653
class 22 24 13156 5720
class 23 24 9724 5893
class - 25 15 11
class 8 25 2 1
class 13 25 48 29
class 14 25 67 11
class 15 25 81 12
class 16 25 165 57
class 17 25 60 27
class 18 25 56 40
class 19 25 53 33
class 20 25 49 41
class 21 25 33 20
class 22 25 23 14
class 23 25 7 6
class 24 25 259 176
class - 26 15 6
class 8 26 5 2
class 13 26 37 21
class 14 26 95 8
class 15 26 177 14
class 16 26 151 51
class 17 26 90 36
class 18 26 80 35
class 19 26 89 40
class 20 26 68 37
class 21 26 42 19
class 22 26 22 19
class 23 26 13 11
class 24 26 165 97
class 25 26 11 9
class - 27 4 3
class 8 27 7 1
class 9 27 37 2
class 13 27 22 16
class 14 27 26 5
class 15 27 86 7
class 16 27 74 36
class 17 27 34 14
class 18 27 39 18
class 19 27 24 20
class 20 27 30 21
class 21 27 17 12
class 22 27 20 10
class 23 27 19 13
class 24 27 95 58
class 25 27 1 1
class 26 27 2 2
class - 28 1 1
class 12 28 2 1
class 15 28 4 2
class 16 28 10 9
class 17 28 14 7
class 18 28 14 9
class 19 28 21 15
class 20 28 18 8
class 21 28 12 7
class 22 28 14 5
class 23 28 5 4
class 24 28 23 15
class - 29 4 3
class 8 29 2 1
class 9 29 1 1
class 14 29 2 1
class 16 29 23 4
class 17 29 21 11
class 18 29 29 8
class 19 29 22 10
class 20 29 90 13
class 21 29 15 7
class 22 29 37 7
class 23 29 2 2
class 24 29 44 19
class - 30 14 4
class 14 30 1 1
class 16 30 9 7
class 17 30 12 5
class 18 30 84 9
class 19 30 19 9
class 20 30 84 8
class 21 30 5 3
class 22 30 10 1
class 23 30 4 4
class 24 30 84 18
class 28 30 1 1
class 29 30 4 2
class 16 31 1 1
class 17 31 15 3
class 19 31 1 1
class 20 31 1 1
class 21 31 2 1
class - 32 5 3
class 8 32 1 1
class 9 32 1 1
class 13 32 1 1
class 15 32 1 1
class 16 32 9 9
class 17 32 5 2
class 18 32 4 4
class 19 32 11 10
class 20 32 27 12
class 21 32 22 11
class 22 32 10 8
class 23 32 6 4
class 24 32 46 29
class 26 32 2 1
class 27 32 15 1
class 29 32 3 3
covers 8 15
covers 9 11
covers 10 22
covers 11 64
covers 12 151
covers 13 287
covers 14 596
covers 15 831
covers 16 4757
covers 17 2732
covers 18 4328
covers 19 7088
covers 20 8612
covers 21 7679
covers 22 7935
covers 23 5926
covers 24 368
covers 25 10
covers 26 3
covers 27 1
covers 28 1
covers 29 5
near 9 4
near 10 0 1
near 11 6 11 10
near 12 39 26 37 35
near 13 84 62 49 62 64
near 14 171 123 122 122 111 98
near 15 322 222 190 183 170 161 126
near 16 4304 2894 1940 1265 771 476 286 166
near 17 2137 734 579 508 446 380 301 217 152
near 18 3727 1903 982 780 681 523 419 308 212 146
near 19 8366 4504 3057 1624 1232 880 646 476 334 223 146
near 20 12316 6114 3911 2721 1535 1138 881 664 488 353 236 156
near 21 11401 5766 3832 2851 2126 1260 1009 798 611 440 339 228 150
near 22 17969 9719 6370 4408 3139 2324 1342 1039 777 583 432 332 226 154
near 23 12075 6134 4486 3414 2712 2367 1939 1175 943 712 510 402 304 211 143
near 24 95007 52400 31227 20652 13445 9045 6342 4457 2188 1528 1086 778 556 395 249 158
near 25 164 29 44 44 33 24 28 33 21 5 7 5 0 2 0 0 1
near 26 195 137 61 48 49 34 35 38 23 19 5 5 4 1 1
near 27 79 51 47 20 19 11 16 19 10 8 9 3 2 2 0 1 1
near 28 14 9 7 10 3 3 6 2 1
near 29 53 46 25 23 16 7 8 7 9 2 5 3 0 0 0 0 0 1
near 30 73 59 37 32 16 12 2 4 7 2 4 6 3 0 0 0 0 0 1 0 1
near 31 3 2 1 2 1 0 1 0 1 0 0 0 1 1
near 32 17 18 7 6 3 2 1 5 4 2 2 0 0 0 0 0 0 0 0 0 0 0 0 1
