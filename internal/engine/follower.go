package engine

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Follower is a script that goes out behind others, in the same pipeline: the
// server runs it after them, on the connection that they came by. Its only key
// is the first of theirs.
type Follower struct {
	Script *scripts.Script

	answer atomic.Pointer[rueidis.RedisResult]
}

type followerKey struct{}

// Under is a context that has f follow each script of Run.
func (f *Follower) Under(ctx context.Context) context.Context {
	return context.WithValue(ctx, followerKey{}, f)
}

// Answer is what the server said behind the latest send. It is false if f did
// not follow that one: on a cluster, where the two may part ways, on a
// connection of its own, before WAIT.
func (f *Follower) Answer() (answer rueidis.RedisResult, followed bool) {
	if a := f.answer.Load(); a != nil {
		return *a, true
	}
	return answer, false
}

// followed is Run under a follower.
func (e *Engine) followed(ctx context.Context, op Operation, keys, args []string, f *Follower) (Answer, error) {
	return e.loop(ctx, op, func(ctx context.Context, fresh bool) (rueidis.RedisResult, error) {
		f.answer.Store(nil)
		s := script(op)
		switch {
		case fresh:
			return op.ExecFresh(ctx, e.Redis, keys, args), nil
		case s == nil || e.cluster:
			return exec(ctx, e.Redis, op, keys, args), nil
		}
		first, second := s.ExecFollowed(ctx, e.Redis, keys, args, f.Script)
		f.answer.Store(&second)
		return first, nil
	})
}

// script is op, if it is one.
func script(op Operation) *scripts.Script {
	if s, ok := op.(steady); ok {
		op = s.Operation
	}
	s, _ := op.(*scripts.Script)
	return s
}
