package send

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Requests numbers what the server is to know when it comes again: each request
// has a key of its own, which remembers the answer until its caller has it.
type Requests struct {
	s         *Sender
	forgotten *combine.Table[string, string, struct{}]
	born      string       // what all requests of this client begin with
	last      atomic.Int64 // so many were numbered
}

// NewRequests returns the requests of one kind of object.
func NewRequests(s *Sender) *Requests {
	r := &Requests{s: s, born: rand.Text()[:16]}
	r.forgotten = combine.New(combine.Config[string, string, struct{}]{
		Send: func(_ string, _ int, batch []*combine.Call[string, struct{}]) error {
			keys := make([]string, len(batch))
			for i, c := range batch {
				keys[i] = c.Ask
			}
			_, _ = s.Run(context.Background(), forget, keys, nil)
			return nil
		},
		Cut:   func(waiting []*combine.Call[string, struct{}]) int { return min(len(waiting), mostForgotten) },
		Spawn: s.Spawn, Closed: core.ErrClosed,
	})
	return r
}

// ID returns a fresh request id.
func (r *Requests) ID() string { return r.born + "-" + strconv.FormatInt(r.last.Add(1), 10) }

// Forget drops the key that remembers a request about a name, with others that
// are to go. If it does not get through, it goes by itself.
func (r *Requests) Forget(name, key string) { r.forgotten.Post(name, key) }

// remembered is how long the server remembers the answer to a request, ms.
var remembered = strconv.FormatInt(core.Millis(RequestMemory), 10)

// RunBriefly is [Sender.RunBriefly] of a script that includes done.lua, under a request. The key that remembers its answer
// is the last one, and how long it does is the first argument. The key is dropped once the answer is here.
func (r *Requests) RunBriefly(ctx context.Context, op Operation, name, request string, on, args []string) (Answer, error) {
	got, err := r.s.RunBriefly(ctx, op, append(on, request), append([]string{remembered}, args...))
	if err == nil && !got.Replayed {
		r.Forget(name, request) // there is no copy of it that may come late
	}
	return got, err
}

var forget = scripts.NewCommand("UNLINK", scripts.Unsafe)

// mostForgotten bounds one command.
const mostForgotten = 1000

// Identified is a script that has a request id, so that the server knows when it
// comes again. It includes done.lua.
type Identified struct{ *scripts.Script }

// Repeatable says that a second run does no harm.
func (Identified) Repeatable() bool { return true }

// CallerRequest is a request that its caller may repeat. Its zero value is none.
type CallerRequest struct {
	ID     string
	Memory time.Duration // for how long the server knows it again
}

// mostCallerID is how many bytes the id of a request has at most.
const mostCallerID = 256

// NewCallerRequest checks what a caller gives.
func NewCallerRequest(id string, memory time.Duration) (CallerRequest, error) {
	switch {
	case id == "" || len(id) > mostCallerID:
		return CallerRequest{}, fmt.Errorf("%w: request id of %d bytes: from 1 to %d", core.ErrInvalidArgument, len(id), mostCallerID)
	case memory < RequestMemory || memory > core.LongestLease:
		return CallerRequest{}, fmt.Errorf("%w: memory of a request %v is outside of %v to %v", core.ErrInvalidArgument, memory, RequestMemory, core.LongestLease)
	}
	return CallerRequest{id, memory}, nil
}

// RequestMemory is how long the server remembers a request, so that a send of
// it that arrives late changes nothing: longer than rueidis or the kernel keep
// a connection that has fallen silent, and below the minute after which nothing
// of ours is left on the server.
const RequestMemory = 45 * time.Second

// Remembered returns how long after its first send a request may be said again.
func (s *Sender) Remembered() time.Duration { return RequestMemory - 2*s.SendTimeout() }

// NewRequest returns a fresh request id, 32 hex digits as Redisson writes them.
func NewRequest() string {
	id := uuid.New()
	return fmt.Sprintf("%x", id[:])
}

// MayHaveRun reports that the server may have done what it was asked.
func MayHaveRun(err error) bool { return errors.Is(err, core.ErrOutcomeUnknown) }
