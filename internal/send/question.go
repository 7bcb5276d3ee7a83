package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Question records which servers have not answered a read yet. A caller may leave before they do. The zero value is ready for
// use.
type Question struct {
	mu   sync.Mutex
	open []*Asked
}

// Asked is a server that has not answered yet.
type Asked struct {
	q    *Question
	node string // "" if it is not known which
	why  error  // the last failure
}

// Asks notes that a server is asked. Answered or Ended follows.
func (q *Question) Asks(node string) *Asked {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := &Asked{q: q, node: node}
	q.open = append(q.open, a)
	return a
}

// Failed notes why the server was not reached. It is asked again.
func (a *Asked) Failed(why error) {
	a.q.mu.Lock()
	defer a.q.mu.Unlock()
	a.why = why
}

// Answered notes that the server has answered.
func (a *Asked) Answered() {
	a.q.mu.Lock()
	defer a.q.mu.Unlock()
	a.done()
}

func (a *Asked) done() {
	if i := slices.Index(a.q.open, a); i >= 0 {
		a.q.open = slices.Delete(a.q.open, i, i+1)
	}
}

// Ended returns the error of the exchange with the server, which ended with err. Unless that is an answer, it says that
// the server was not reached.
func (a *Asked) Ended(ctx context.Context, err error) error {
	a.q.mu.Lock()
	defer a.q.mu.Unlock()
	if !Transient(err) || errors.Is(err, core.ErrSlotMoving) {
		a.done()
		return err
	}
	a.why = cmp.Or(a.why, err) // which a caller that leaves now is told, too
	return unreached(ctx, withAddress(a.node, a.why))
}

// Left returns the error of a question that was left because of err. A caller that leaves without having
// set a time is not told of a server that has had none to answer.
func (q *Question) Left(ctx context.Context, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []error
	for _, a := range q.open {
		if a.why != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			all = append(all, withAddress(a.node, cmp.Or(a.why, errNoAnswer)))
		}
	}
	if ctx.Err() == nil || len(all) == 0 {
		return err
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return unreached(ctx, errors.Join(slices.CompactFunc(all, func(a, b error) bool { return a.Error() == b.Error() })...))
}

var errNoAnswer = errors.New("no answer")

// withAddress returns the error with the address of a server, unless it is not known, or the error has it.
func withAddress(node string, why error) error {
	if node == "" || strings.Contains(why.Error(), node+":") {
		return why
	}
	return fmt.Errorf("%s: %w", node, why)
}

func unreached(ctx context.Context, why error) error {
	if ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrUnreached, why)
	}
	return Unanswered(ctx, why)
}
