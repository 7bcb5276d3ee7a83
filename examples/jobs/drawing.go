package main

import (
	"fmt"
	"strings"
	"time"
)

// wide is how many blocks are all orders.
const wide = 30

// drawing returns a line for each place.
func (l *line) drawing() (lines []string) {
	for place, st := range l.stations {
		s := st.stats
		done := min(wide*int(s.Acked+s.Dead)/l.orders, wide)
		lines = append(lines, fmt.Sprintf("%-6s %s%s  added %d, done %d, retried %d, dead %d, oldest %s%s", places[place],
			strings.Repeat("█", done), strings.Repeat("░", wide-done), s.Added, s.Acked, s.Retried+s.RanOut, s.Dead, age(s.Oldest), st.fate()))
	}
	return lines
}

// age returns how long the next order has waited.
func age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%.1f s", max(time.Since(since), 0).Seconds())
}

// fate returns what became of the process, and how often.
func (st *station) fate() string {
	switch {
	case st.killed:
		return fmt.Sprintf(", killed (%d)", st.kills)
	case st.kills > 0:
		return fmt.Sprintf(", lives again (%d)", st.kills)
	}
	return ""
}
