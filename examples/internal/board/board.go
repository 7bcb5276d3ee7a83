// Package board draws lines on a terminal, over those that it drew before, and nothing
// on anything else.
package board

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// often is how often it is drawn anew.
const often = 50 * time.Millisecond

// Board is a part of a terminal.
type Board struct {
	out   io.Writer // nil: none
	lines func() []string
	drawn int
	last  time.Time
}

// New returns a board on out, if that is a terminal. Lines says what is on it.
func New(out io.Writer, lines func() []string) *Board {
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return &Board{}
	}
	return &Board{out: file, lines: lines}
}

// Shows reports whether it is on a terminal.
func (b *Board) Shows() bool { return b.out != nil }

// Draw draws the lines as they are now, unless that was done a moment ago.
func (b *Board) Draw() {
	if b.out == nil || time.Since(b.last) < often {
		return
	}
	b.last = time.Now()
	b.show()
}

// End draws them as they are in the end.
func (b *Board) End() {
	if b.out != nil {
		b.show()
	}
}

func (b *Board) show() {
	var text strings.Builder
	if b.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", b.drawn) // over what was drawn before
	}
	lines := b.lines()
	for _, line := range lines {
		fmt.Fprintf(&text, "\x1b[2K%s\n", line)
	}
	b.drawn = len(lines)
	_, _ = io.WriteString(b.out, text.String())
}
