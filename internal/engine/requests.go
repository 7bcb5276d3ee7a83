package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Requests numbers what the server is to know when it comes again: each request
// has a key of its own, which remembers the answer until its caller has it.
type Requests struct {
	e         *Engine
	forgotten *combine.Table[string, string, struct{}]
	born      string       // what all requests of this client begin with
	last      atomic.Int64 // so many were numbered
}

// NewRequests returns the requests of one kind of object.
func NewRequests(e *Engine) *Requests {
	r := &Requests{e: e, born: rand.Text()[:16]}
	r.forgotten = combine.New(combine.Config[string, string, struct{}]{
		Send: r.send, Cut: cutForgotten, Spawn: e.Spawn, Closed: ErrClosed,
	})
	return r
}

// ID returns a fresh request id.
func (r *Requests) ID() string { return r.born + "-" + strconv.FormatInt(r.last.Add(1), 10) }

// Forget drops the key that remembers a request about a name, with others that
// are to go. If it does not get through, it goes by itself.
func (r *Requests) Forget(name, key string) { r.forgotten.Post(name, key) }

var forget = scripts.NewCommand("UNLINK", scripts.Unsafe)

func (r *Requests) send(_ string, _ int, batch []*combine.Call[string, struct{}]) error {
	keys := make([]string, len(batch))
	for i, c := range batch {
		keys[i] = c.Ask
	}
	_, _ = r.e.Run(context.Background(), forget, keys, nil)
	return nil
}

// mostForgotten bounds one command.
const mostForgotten = 1000

func cutForgotten(waiting []*combine.Call[string, struct{}]) int {
	return min(len(waiting), mostForgotten)
}

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
		return CallerRequest{}, fmt.Errorf("%w: request id of %d bytes: from 1 to %d", ErrOption, len(id), mostCallerID)
	case memory < RequestMemory || memory > LongestLease:
		return CallerRequest{}, fmt.Errorf("%w: memory of a request %v is outside of %v to %v", ErrOption, memory, RequestMemory, LongestLease)
	}
	return CallerRequest{id, memory}, nil
}
