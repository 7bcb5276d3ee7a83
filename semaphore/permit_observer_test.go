package semaphore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// notes is an observer that writes down what it is told about permits.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) note(what, kind, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, what+" "+kind+" "+name)
}

func (n *notes) WaitStarted(_ context.Context, kind, name string) { n.note("wait started", kind, name) }

func (n *notes) WaitEnded(_ context.Context, kind, name string, _ time.Duration, err error) {
	if err != nil {
		n.note("wait ended in vain", kind, name)
		return
	}
	n.note("wait ended", kind, name)
}

func (n *notes) Acquired(_ context.Context, kind, name string, _ bool) {
	n.note("acquired", kind, name)
}

func (n *notes) Released(_ context.Context, kind, name string, _ bool) {
	n.note("released", kind, name)
}

func (n *notes) Lost(kind, name string, _ error) { n.note("lost", kind, name) }

func (n *notes) Renewed(int, time.Duration, error) {}

func (n *notes) ScriptRan(context.Context, string, time.Duration, int, error) {}

func TestTheObserverIsToldOfPermits(t *testing.T) {
	t.Parallel()
	told := new(notes)
	r := newPermitRig(t, func(c *core.Config) { c.Observer = told }).set(1)
	p := r.take()
	r.refused(WithWait(300 * time.Millisecond))
	done := r.acquiring(t.Context(), WithLease(200*time.Millisecond))
	r.waiting(1)
	r.give(p)
	q := gotPermit(t, done)
	<-q.Lost()
	name := " permit " + r.of.key
	told.mu.Lock()
	defer told.mu.Unlock()
	want := []string{
		"acquired" + name, "wait started" + name, "wait ended in vain" + name,
		"wait started" + name, "released" + name, "wait ended" + name, "acquired" + name, "lost" + name,
	}
	require.ElementsMatch(t, want, told.all)
	require.Equal(t, want[:4], told.all[:4])
	require.Equal(t, want[7], told.all[7])
}
