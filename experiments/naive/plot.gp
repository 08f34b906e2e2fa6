# Plots the share of rare sequences, and of sequences with one first token, against the length.
load "../style.gp"
set datafile missing NaN # a line continues across the rows of other methods

methods = "sbs resample commit"
titles = "'sbs' 'resample (fresh noise at each step)' 'commit (one child each)'"
array style[3] = [SBS, SAMPLE, DIVERSE]
array shift[3] = [-0.1, 0, 0.1] # moves the methods apart, so that none hides another

# One legend above the panels.
legend(top) = sprintf("unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid; unset logscale; unset label; set lmargin at screen 0.02; set rmargin at screen 0.98; set tmargin at screen 1; set bmargin at screen %.3f; set xrange [0:1]; set yrange [0:1]; set key at screen 0.5, 0.99 center top horizontal maxrows 2 width 1 samplen 3.5", top)

# --- rare sequences: a row for each k, a column for each probability ---

eval figure("naive", 1200, 900)
rare = dir."/rare.csv"
is(m, k, p) = strcol(1) eq word(methods, m) && column(2) == k && column(4) == p
seen(m, k, p) = is(m, k, p) && column(6) > 0 ? column(7) : NaN
# A point outside the frame stands for missing data: gnuplot warns about a plot without points.
unseen(m, k, p) = is(m, k, p) && column(6) == 0 ? column(9) : 1e-30

set multiplot
set logscale y
set format y "10^{%L}"
set xrange [0.4:12.6]
set yrange [1e-5:0.6]
set xtics 2
do for [row = 0:1] {
    do for [col = 0:1] {
        k = word("5 20", row + 1) + 0
        p = word("0.01 0.001", col + 1) + 0
        set lmargin at screen 0.085 + 0.485 * col
        set rmargin at screen 0.495 + 0.485 * col
        set tmargin at screen 0.88 - 0.435 * row
        set bmargin at screen 0.535 - 0.445 * row
        set title sprintf("k = %d, a sequence of probability %g", k, p) offset 0,-0.6
        set xlabel row == 1 ? "Length of the sequences (tokens)" : ""
        set ylabel col == 0 ? "Share of draws that hold it" : "" offset 0.5,0
        plot rare skip 1 using 3:(is(1, k, p) ? column(10) : NaN) with lines lc rgb "#bbbbbb" lw 7 dt 1, \
             for [m = 1:3] rare skip 1 using ($3 + shift[m]):(seen(m, k, p)) with lines ls style[m] lw 1.4, \
             for [m = 1:3] rare skip 1 using ($3 + shift[m]):(seen(m, k, p)):8 with yerrorbars ls style[m] dt 1 ps 1, \
             for [m = 1:3] rare skip 1 using ($3 + shift[m]):(unseen(m, k, p)):(0):(-0.6 * unseen(m, k, p)) with vectors head filled size screen 0.007,22 fixed ls style[m] dt 1 lw 1.4
    }
}
eval legend(0.93)
plot for [m = 1:3] NaN with linespoints ls style[m] lw 1.4 ps 1 title word(titles, m), \
     NaN with lines lc rgb "#bbbbbb" lw 7 title "exact", \
     NaN with vectors lc rgb black title "not drawn once: below where the arrow starts"
unset multiplot
reset
load "../style.gp"
set datafile missing NaN

# --- siblings: a panel for each k ---

eval figure("siblings", 1200, 480)
siblings = dir."/siblings.csv"
share(m, k) = strcol(1) eq word(methods, m) && column(2) == k
set multiplot
set xrange [0.4:12.6]
set yrange [-0.03:1.05]
set xtics 2
set tmargin at screen 0.78
set bmargin at screen 0.16
do for [col = 0:1] {
    k = word("5 20", col + 1) + 0
    set lmargin at screen 0.085 + 0.485 * col
    set rmargin at screen 0.495 + 0.485 * col
    set title sprintf("k = %d", k) offset 0,-0.6
    set xlabel "Length of the sequences (tokens)"
    set ylabel col == 0 ? "Share of draws in which\ntwo begin with one token" : "" offset 0.5,0
    plot siblings skip 1 using 3:(share(1, k) ? column(7) : NaN) with lines lc rgb "#bbbbbb" lw 7 dt 1, \
         for [m = 1:3] siblings skip 1 using ($3 + shift[m]):(share(m, k) ? column(5) : NaN) with lines ls style[m] lw 1.4, \
         for [m = 1:3] siblings skip 1 using ($3 + shift[m]):(share(m, k) ? column(5) : NaN):6 with yerrorbars ls style[m] dt 1 ps 1
}
eval legend(0.87)
plot for [m = 1:3] NaN with linespoints ls style[m] lw 1.4 ps 1 title word(titles, m), \
     NaN with lines lc rgb "#bbbbbb" lw 7 title "exact"
unset multiplot
