package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
)

// onlyReads is an operation that changes nothing.
type onlyReads struct{ Operation }

// OnlyReads returns op, which changes nothing: its outcome is not unknown if the reply is lost.
func OnlyReads(op Operation) Operation { return onlyReads{op} }

// Question is what is asked of servers without changing anything. It may be left while it is asked. The zero value is ready for use.
type Question struct {
	mu   sync.Mutex
	open []string // servers that have not answered; "" if it is not known which
	why  error    // the last failure
}

// Asks notes that a server is asked. answered is called when it has answered.
func (q *Question) Asks(node string) (answered func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = append(q.open, node)
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if i := slices.Index(q.open, node); i >= 0 {
			q.open = slices.Delete(q.open, i, i+1)
		}
	}
}

// Failed notes why a server was not reached.
func (q *Question) Failed(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.why = why
}

// Left returns the error of a question that was left because of err. Who leaves without having
// set a time is not told of a server that has had none to answer.
func (q *Question) Left(ctx context.Context, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() == nil || q.why == nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return unreachedAt(ctx, q.open, q.why)
}

// Ended returns the error of an exchange with a server that ended with err. Unless that is an answer, it says that the
// server was not reached.
func (q *Question) Ended(ctx context.Context, node string, err error) error {
	if !Transient(err) || errors.Is(err, core.ErrSlotMoving) {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	why := q.why
	if why == nil {
		why = err
	}
	return unreachedAt(ctx, []string{node}, why)
}

// unreachedAt returns the error of what the servers have not answered, with their addresses.
func unreachedAt(ctx context.Context, nodes []string, why error) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node string) bool {
		return node == "" || why != nil && strings.Contains(why.Error(), node)
	})
	slices.Sort(nodes)
	switch at := strings.Join(slices.Compact(nodes), ", "); {
	case why == nil:
		why = errors.New(strings.TrimPrefix(at+": no answer", ": "))
	case at != "":
		why = fmt.Errorf("%s: %w", at, why)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrUnreached, why)
	}
	return Unanswered(ctx, why)
}
