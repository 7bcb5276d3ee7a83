package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// drawing is a bar for each shard on a terminal, and nothing on anything else.
type drawing struct {
	f     *fleet
	out   io.Writer // nil: none
	lines int       // drawn before
	last  time.Time
}

func newDrawing(f *fleet) *drawing {
	file, isFile := f.terminal.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return &drawing{f: f}
	}
	return &drawing{f: f, out: file}
}

// often is how often it is drawn anew.
const often = 50 * time.Millisecond

func (d *drawing) draw() {
	if d.out == nil || time.Since(d.last) < often {
		return
	}
	d.last = time.Now()
	d.show()
}

func (d *drawing) show() {
	var text strings.Builder
	if d.lines > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", d.lines) // over what was drawn before
	}
	for i, sh := range d.f.shards {
		fmt.Fprintf(&text, "\x1b[2Kshard %2d  %s%s  %s\n", i,
			strings.Repeat("█", sh.progress), strings.Repeat("░", max(parts-sh.progress, 0)), sh.state())
	}
	d.lines = len(d.f.shards)
	_, _ = io.WriteString(d.out, text.String())
}

// end draws it as it is now.
func (d *drawing) end() {
	if d.out != nil {
		d.show()
	}
}

// state is what a shard does, in a word.
func (sh *shard) state() string {
	switch {
	case !sh.started.IsZero():
		return "started"
	case len(sh.reported) > 0 && len(sh.reported) < sh.lives:
		return "loads again"
	case len(sh.reported) > 0:
		return "ready"
	}
	return "loads"
}
