# The IPv6 table of RouteViews, RIB of 2015-11-01 06:00 UTC as pyasn's ipasn6_20151101.dat has it: 27,693 prefixes.
# Made by heddle gen profile --ipv6.
family ipv6
block 8193 3474
block 8194 1
block 8195 1
block 8230 1
block 9216 375
block 9217 294
block 9218 312
block 9219 197
block 9220 188
block 9221 184
block 9222 447
block 9223 158
block 9224 2
block 9225 2
block 9226 5
block 9227 2
block 9228 1
block 9229 1
block 9230 1
block 9231 1
block 9728 567
block 9729 1
block 9730 197
block 9731 4
block 9732 392
block 9733 382
block 9734 606
block 9735 721
block 9744 160
block 9760 1382
block 9808 2
block 10240 225
block 10241 155
block 10242 1
block 10243 142
block 10244 1030
block 10246 28
block 10752 1574
block 10753 1011
block 10754 1460
block 10755 890
block 10756 517
block 10757 261
block 10758 159
block 11278 2
block 11279 98
block 14339 1
block 63728 1
block 65022 1
class - 16 1 1
class - 19 2 2
class - 20 9 7
class - 21 3 2
class - 22 4 3
class - 23 4 2
class - 24 16 13
class 21 24 1 1
class 23 24 2 1
class - 25 4 3
class 22 25 1 1
class - 26 12 8
class 25 26 2 1
class - 27 14 6
class 26 27 2 1
class - 28 58 18
class 19 28 3 1
class 27 28 9 5
class - 29 853 17
class 28 29 6 3
class - 30 72 15
class 19 30 8 1
class 27 30 8 1
class 29 30 12 9
class - 31 42 16
class 19 31 1 1
class 20 31 2 1
class 28 31 1 1
class 29 31 4 1
class 30 31 21 13
class - 32 6964 32
class 19 32 6 1
class 20 32 9 2
class 24 32 52 3
class 25 32 1 1
class 26 32 1 1
class 28 32 34 5
class 29 32 156 96
class 30 32 21 12
class 31 32 18 10
class - 33 113 20
class 20 33 3 1
class 29 33 12 3
class 30 33 4 2
class 31 33 1 1
class 32 33 180 103
class - 34 77 17
class 20 34 2 1
class 24 34 7 1
class 28 34 5 1
class 29 34 12 2
class 30 34 8 3
class 31 34 5 3
class 32 34 80 32
class 33 34 17 9
class - 35 93 14
class 20 35 1 1
class 29 35 23 2
class 30 35 1 1
class 31 35 2 1
class 32 35 119 41
class 33 35 12 3
class - 36 436 27
class 19 36 15 1
class 20 36 2 2
class 24 36 14 2
class 26 36 3 2
class 27 36 1 1
class 28 36 1 1
class 29 36 26 3
class 30 36 24 4
class 31 36 4 1
class 32 36 452 130
class 33 36 12 4
class 34 36 6 4
class 35 36 8 6
class - 37 47 9
class 20 37 1 1
class 29 37 17 3
class 30 37 6 1
class 32 37 11 5
class 34 37 2 1
class 36 37 11 6
class - 38 139 11
class 29 38 2 1
class 32 38 44 12
class 33 38 2 2
class 34 38 9 1
class 36 38 3 2
class 37 38 4 3
class - 39 19 7
class 26 39 1 1
class 29 39 4 2
class 30 39 1 1
class 31 39 2 1
class 32 39 23 5
class 34 39 8 1
class 35 39 15 4
class - 40 614 28
class 19 40 1 1
class 20 40 8 1
class 26 40 2 1
class 27 40 18 1
class 28 40 4 1
class 29 40 12 5
class 30 40 5 1
class 31 40 8 3
class 32 40 458 140
class 33 40 18 4
class 34 40 2 2
class 35 40 5 4
class 36 40 34 21
class 37 40 4 1
class 38 40 27 17
class 39 40 1 1
class - 41 30 9
class 28 41 1 1
class 31 41 1 1
class 32 41 17 7
class 33 41 56 1
class 35 41 2 2
class 36 41 11 1
class 38 41 39 14
class 40 41 31 21
class - 42 92 10
class 31 42 9 1
class 32 42 57 14
class 33 42 4 1
class 35 42 14 2
class 36 42 11 1
class 40 42 13 4
class - 43 12 4
class 29 43 13 1
class 32 43 119 4
class 36 43 3 1
class 40 43 2 2
class - 44 287 23
class 21 44 2 1
class 24 44 1 1
class 27 44 2 1
class 28 44 25 2
class 29 44 262 4
class 32 44 385 67
class 34 44 2 1
class 36 44 58 13
class 38 44 2 1
class 40 44 64 14
class 41 44 16 5
class 42 44 9 5
class 43 44 10 5
class - 45 53 11
class 27 45 1 1
class 32 45 33 6
class 35 45 1 1
class 36 45 21 2
class 37 45 1 1
class 41 45 4 1
class 44 45 5 3
class - 46 83 9
class 19 46 2 1
class 27 46 1 1
class 29 46 240 1
class 32 46 46 16
class 33 46 1 1
class 35 46 3 1
class 36 46 2 1
class 39 46 1 1
class - 47 113 16
class 19 47 3 1
class 29 47 11 2
class 32 47 44 9
class 33 47 6 2
class 42 47 1 1
class 44 47 2 2
class 45 47 1 1
class 46 47 10 6
class - 48 7314 32
class 19 48 29 1
class 21 48 41 2
class 24 48 7 2
class 25 48 4 2
class 26 48 2 1
class 27 48 30 4
class 28 48 22 2
class 29 48 265 29
class 30 48 13 7
class 31 48 144 4
class 32 48 3367 660
class 33 48 22 9
class 34 48 32 7
class 35 48 16 7
class 36 48 337 52
class 37 48 1 1
class 38 48 17 12
class 39 48 2 2
class 40 48 295 90
class 41 48 12 5
class 42 48 3 3
class 44 48 86 51
class 45 48 17 9
class 46 48 18 10
class 47 48 46 34
class - 49 2 1
class 32 49 8 4
class 48 49 14 11
class 45 50 1 1
class 48 50 4 3
class 48 51 2 1
class - 52 2 1
class 32 52 5 3
class 48 52 10 7
class 32 54 1 1
class 48 55 1 1
class - 56 6 3
class 21 56 1 1
class 32 56 132 27
class 38 56 24 5
class 40 56 3 3
class 48 56 14 11
class 48 58 1 1
class 32 60 8 3
class 40 60 1 1
class 48 60 1 1
class 32 62 1 1
class - 64 24 5
class 20 64 6 1
class 24 64 5 1
class 29 64 4 1
class 31 64 2 1
class 32 64 500 77
class 36 64 4 1
class 37 64 1 1
class 38 64 13 4
class 39 64 1 1
class 40 64 17 8
class 44 64 5 2
class 48 64 190 46
class 32 65 1 1
class 32 92 2 1
class - 96 1 1
class 29 112 1 1
class 32 112 4 3
class 36 116 2 2
class 48 120 2 1
class 32 123 1 1
class 32 124 7 3
class 48 124 5 2
class 32 125 12 2
class 29 126 1 1
class 31 126 1 1
class 32 126 238 17
class 35 126 1 1
class 36 126 21 2
class 38 126 4 2
class 48 126 1 1
class 50 126 1 1
class 125 126 1 1
class 32 127 15 4
class 48 127 10 3
class - 128 2 2
class 21 128 2 1
class 32 128 16 11
class 35 128 1 1
class 36 128 1 1
class 40 128 4 2
class 45 128 1 1
class 48 128 15 4
covers 19 1
covers 20 2
covers 21 2
covers 22 1
covers 23 1
covers 24 5
covers 25 3
covers 26 4
covers 27 13
covers 28 14
covers 29 137
covers 30 36
covers 31 20
covers 32 1128
covers 33 32
covers 34 14
covers 35 27
covers 36 89
covers 37 7
covers 38 43
covers 39 5
covers 40 138
covers 41 9
covers 42 9
covers 43 5
covers 44 58
covers 45 10
covers 46 14
covers 47 34
covers 48 86
covers 50 1
covers 125 1
near 20 0 1 0 1
near 21 0 0 0 0 1
near 22 0 0 0 1
near 23 0 0 0 0 1 0 1
near 24 1 1 0 0 0 1 1
near 25 0 0 0 0 0 0 1
near 26 1 0 0 2 0 1 0 0 0 1
near 27 1 0 0 1 1 0 2 0 1 2 1
near 28 8 1 3 3 3 4 4 7 4 4 2 3
near 29 9 17 20 82 131 170 149 103 69 43 24 14 8
near 30 20 4 2 3 1 1 2 3 3 6 10 7 8 4
near 31 14 4 0 3 0 0 2 1 1 1 1 1 0 5 5
near 32 285 138 231 890 874 838 749 758 692 621 458 276 146 79 41 23
near 33 115 4 6 2 1 0 1 1 0 7 5 6 5 7 8 8 7
near 34 74 34 5 6 2 2 0 0 1 0 0 3 3 1 3 4 3 3
near 35 78 52 28 3 2 2 0 0 0 1 1 1 6 3 2 2 1 3 3
near 36 255 174 108 59 23 22 21 16 10 4 3 4 7 10 12 17 16 17 21 17
near 37 29 12 8 4 8 1 2 1 0 0 0 1 0 0 0 1 0 1 0 1
near 38 66 39 28 14 10 10 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 2
near 39 19 15 5 4 4 2 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
near 40 226 196 133 84 63 51 39 39 15 10 7 5 6 3 6 9 6 8 4 13 17 13 19 17
near 41 59 23 21 11 7 3 2 0 1 0 0 0 1 0 0 0 0 1 0 1 1
near 42 59 44 18 10 8 7 4 6 2 0 1 1 1 0 1 1 0 0 1 0 0 0 1 1 0 1
near 43 11 2 2 58 26 13 13 6 2 2 1 0 0 0 0 0 0 0 0 0 0 0 1
near 44 280 195 100 34 99 22 14 16 15 39 43 28 17 10 8 5 4 7 3 3 2 1 4 6 3 4 10 10
near 45 28 15 6 10 7 1 2 3 3 3 1 0 1 1 2 2 0 2 0 0 1 1 0 1 1 1 0 1
near 46 131 70 36 20 13 8 14 10 7 6 3 3 3 2 1 2 1 1 0 0 2 0 1 2 1 1 2 2 3 2
near 47 38 17 11 10 8 5 2 6 7 3 7 6 5 5 1 1 3 3 1 1 1 0 0 1 1 0 1 1 0 3 3
near 48 2772 1787 1433 1014 712 453 300 190 187 142 114 133 174 154 192 253 136 94 56 35 35 29 44 64 69 101 107 110 89 66 38 21
near 49 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
near 50 1
near 51 1
near 52 1 3 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
near 56 22 29 3 1 2 0 0 1 6 5 5 10 4 1 2 0 3 5 5 4 6 8 4 4
near 60 1 3 1
near 64 142 103 76 45 24 18 7 7 13 8 7 4 12 9 5 7 17 10 12 3 6 7 6 7 6 6 8 9 9 8 5 6 1 2 1 0 0 0 0 1 1 1 0 2 1 0 1
near 92 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
near 112 1
near 120 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
near 124 3 0 0 0 0 0 0 0 1 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
near 125 1 1 1 1 1 0 0 0 1 0 0 0 1 0 0 0 1 0 0 0 0 0 0 0 0 1 0 0 1
near 126 40 36 35 30 26 17 6 6 6 7 7 3 1 1 0 0 0 1 0 0 0 0 1 0 1 1 1 0 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2 3 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 1 0 1 2 1 1
near 127 4 4 2 0 0 0 2 1 0 1 0 2 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 1
near 128 4 5 4 1 0 0 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
