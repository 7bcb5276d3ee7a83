package tool

import (
	"fmt"
	"time"
)

// progressEvery separates the lines of a progress.
const progressEvery = 200 * time.Millisecond

// Progress shows how many of something are done, in one line of a terminal. To a standard error that is no terminal, and with
// --json, it writes nothing.
type Progress struct {
	t     *Tool
	what  string
	done  int64
	next  time.Time
	shows bool // on a terminal
	wrote bool
}

// NewProgress returns a progress of nothing yet.
func (t *Tool) NewProgress(what string) *Progress {
	return &Progress{t: t, what: what, next: time.Now().Add(progressEvery), shows: OnTerminal(t.Stderr) && !t.JSON}
}

// Add notes that so many more are done.
func (p *Progress) Add(n int) {
	p.done += int64(n)
	if now := time.Now(); p.shows && !now.Before(p.next) {
		p.next, p.wrote = now.Add(progressEvery), true
		fmt.Fprintf(p.t.Stderr, "\r%d %s", p.done, p.what)
	}
}

// Done returns how many are done.
func (p *Progress) Done() int64 { return p.done }

// End takes the line away.
func (p *Progress) End() {
	if p.wrote {
		fmt.Fprint(p.t.Stderr, "\r\x1b[K")
	}
}
