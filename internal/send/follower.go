package send

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Follower is a script that goes out behind scripts or commands, in the same pipeline: the
// server runs it after them, on the connection that they came by. Its only key
// is the first of theirs.
type Follower struct {
	Script *scripts.Script

	answer atomic.Pointer[rueidis.RedisResult]
}

// callKey is the key of what goes with a call: a Follower, or a Leaving.
type callKey struct{}

// Followed reports whether something follows the calls under ctx.
func Followed(ctx context.Context) bool {
	_, is := ctx.Value(callKey{}).(*Follower)
	return is
}

// Under returns a context that has f follow each script of Run.
func (f *Follower) Under(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, f)
}

// Answer returns what the server said behind the latest send. It is false if f did
// not follow that one: on a cluster, where the two may part ways, on a
// connection of its own, before WAIT.
func (f *Follower) Answer() (answer rueidis.RedisResult, followed bool) {
	if a := f.answer.Load(); a != nil {
		return *a, true
	}
	return answer, false
}

// followed is Run under a follower.
func (s *Sender) followed(ctx context.Context, op Operation, t transfer, keys, args []string, f *Follower) (Answer, error) {
	return s.loop(ctx, op, &t, func(fresh bool) (rueidis.RedisResult, error) {
		send := s.Bounded(ctx)
		f.answer.Store(nil)
		if t.late {
			if err := s.weigh(send, &t, keys, args); err != nil {
				return rueidis.RedisResult{}, err
			}
		}
		o := followable(op)
		one := func(send context.Context) rueidis.RedisResult {
			if o != nil && !s.Cluster() && (t.long() || !fresh) {
				first, second := o.ExecFollowed(send, s.Redis, keys, args, f.Script, t.long())
				f.answer.Store(&second)
				return first
			}
			return exec(send, s.Redis, op, keys, args, t.long() || fresh)
		}
		if t.long() {
			return s.atLength(ctx, keys, &t, one)
		}
		return one(send), nil
	})
}

type canBeFollowed interface {
	ExecFollowed(ctx context.Context, c rueidis.Client, keys, args []string, next *scripts.Script, fresh bool) (first, second rueidis.RedisResult)
}

// followable returns op, if something may follow it.
func followable(op Operation) canBeFollowed {
	if s, ok := op.(noMigrationRetry); ok {
		op = s.Operation
	}
	o, _ := op.(canBeFollowed)
	return o
}
