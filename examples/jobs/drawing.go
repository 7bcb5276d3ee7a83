package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// drawing is a line for each place on a terminal, and nothing on anything else.
type drawing struct {
	l     *line
	out   io.Writer // nil: none
	lines int       // drawn before
}

func newDrawing(l *line) *drawing {
	file, isFile := l.terminal.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return &drawing{l: l}
	}
	return &drawing{l: l, out: file}
}

// wide is how many blocks are all orders.
const wide = 30

func (d *drawing) draw() {
	if d.out == nil {
		return
	}
	var text strings.Builder
	if d.lines > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", d.lines) // over what was drawn before
	}
	for place, st := range d.l.stations {
		s := st.stats
		done := min(wide*int(s.Acked+s.Dead)/d.l.orders, wide)
		fmt.Fprintf(&text, "\x1b[2K%-6s %s%s  added %d, done %d, retried %d, dead %d, oldest %s%s\n", places[place],
			strings.Repeat("█", done), strings.Repeat("░", wide-done), s.Added, s.Acked, s.Retried+s.RanOut, s.Dead, age(s.Oldest), st.fate())
	}
	d.lines = len(d.l.stations)
	_, _ = io.WriteString(d.out, text.String())
}

// end draws it as it is now.
func (d *drawing) end() { d.draw() }

// age is how long the next order has waited.
func age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%.1f s", max(time.Since(since), 0).Seconds())
}

// fate is what became of the process, and how often.
func (st *station) fate() string {
	switch {
	case st.killed:
		return fmt.Sprintf(", killed (%d)", st.kills)
	case st.kills > 0:
		return fmt.Sprintf(", lives again (%d)", st.kills)
	}
	return ""
}
