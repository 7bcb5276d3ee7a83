package multilock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson"
)

// names is an observer that keeps what it is told the objects' names by.
type names struct {
	mu    sync.Mutex
	lines []string
}

var _ rueidisson.Observer = (*names)(nil)

func (n *names) note(what, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, what+" "+name)
}

// has reports whether it was told of that.
func (n *names) has(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		if strings.HasPrefix(line, what) {
			return true
		}
	}
	return false
}

// only is an error that names a line about another name.
func (n *names) only(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		if !strings.HasSuffix(line, " "+name) {
			return fmt.Errorf("told of %q", line)
		}
	}
	return nil
}

func (n *names) WaitStarted(_ context.Context, _, name string) { n.note("wait started", name) }
func (n *names) WaitEnded(_ context.Context, _, name string, _ time.Duration, _ error) {
	n.note("wait ended", name)
}
func (n *names) Acquired(_ context.Context, _, name string, _ bool)         { n.note("acquired", name) }
func (n *names) Released(_ context.Context, _, name string, _ bool)         { n.note("released", name) }
func (n *names) Lost(_, name string, _ error)                               { n.note("lost", name) }
func (*names) Renewed(int, time.Duration, error)                            {}
func (*names) ScriptRan(context.Context, string, time.Duration, int, error) {}
