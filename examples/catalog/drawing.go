package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// drawing is a line for each process on a terminal, and nothing on anything else.
type drawing struct {
	c     *catalog
	out   io.Writer // nil: none
	lines int       // drawn before
	last  time.Time
}

func newDrawing(c *catalog) *drawing {
	file, isFile := c.terminal.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return &drawing{c: c}
	}
	return &drawing{c: c, out: file}
}

func (d *drawing) draw() {
	if d.out == nil || time.Since(d.last) < often {
		return
	}
	d.last = time.Now()
	d.show()
}

// wide is how many blocks are all reads.
const wide = 30

func (d *drawing) show() {
	var text strings.Builder
	if d.lines > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", d.lines) // over what was drawn before
	}
	by, _ := d.c.store.loaded()
	for i, sh := range d.c.pages {
		hits := wide * int(sh.last.Hits) / max(int(sh.last.Hits+sh.last.Misses), 1)
		fmt.Fprintf(&text, "\x1b[2Kprocess %d  %s%s  %s hits, %d loads, %s\n", i,
			strings.Repeat("█", hits), strings.Repeat("░", wide-hits), sh.ratio(), by[i], sh.news())
	}
	d.lines = len(d.c.pages)
	_, _ = io.WriteString(d.out, text.String())
}

// end draws it as it is now.
func (d *drawing) end() {
	if d.out != nil {
		d.show()
	}
}

// news is how old the last price was when it was seen.
func (sh *shop) news() string {
	if len(sh.ages) == 0 {
		return "no new price yet"
	}
	return fmt.Sprintf("the last price after %.2f ms", float64(sh.ages[len(sh.ages)-1].Microseconds())/1000)
}
