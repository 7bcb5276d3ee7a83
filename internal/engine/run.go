package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// maxLost bounds the sends whose reply is lost, and refusedFor how long an
// operation is sent again that the server, or nobody, took: rueidis needs about a
// second to learn of a failover.
const (
	maxLost    = 4
	refusedFor = 3 * time.Second
)

// Answer is what the server said to an operation.
type Answer struct {
	rueidis.RedisMessage
	Started  watchdog.Instant // before the send that was answered
	Replayed bool             // the reply to an earlier send was lost: that one may have run, or may still arrive
	Nil      bool             // the answer is nil
}

// Operation is what [Engine.Run] sends: a script, or a plain command.
type Operation interface {
	Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult
	ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult
	// Label names it to the observer.
	Label() string
	// Repeatable says that a second run does no harm.
	Repeatable() bool
}

// steady is an operation that has another one beside it for a moving slot.
type steady struct{ Operation }

// UnlessMoving is op for callers that know what to do while the slot of its
// keys moves: Run then says so at once.
func UnlessMoving(op Operation) Operation { return steady{op} }

// Run sends a script, or a plain command, and returns its answer. One whose
// Replay is safe is sent again when its reply is lost, each time on another
// connection; any is sent again when the server refused it for a passing
// reason, or nobody was there to take it. Up to maxLost replies may be lost,
// but no more once a silent server has cost the time of two. ctx ends the
// re-sending, and lends its values; it does not abandon a send, which has a
// bound of its own. Of an errand, what was refused is not sent again: an errand
// is repeated as a whole.
//
// An error wraps ErrUnknown if the operation may have run.
func (e *Engine) Run(ctx context.Context, op Operation, keys, args []string) (Answer, error) {
	if f, _ := ctx.Value(followerKey{}).(*Follower); f != nil {
		return e.followed(ctx, op, slices.Clone(keys), slices.Clone(args), f)
	}
	return e.loop(ctx, op, func(ctx context.Context, fresh bool) (rueidis.RedisResult, error) {
		ctx, cancel := e.roomy(ctx, keys, args)
		defer cancel()
		if fresh {
			return op.ExecFresh(ctx, e.Redis, slices.Clone(keys), slices.Clone(args)), nil
		}
		return exec(ctx, e.Redis, op, keys, args), nil
	})
}

// RunBehind is Run of a command that only reads, right behind another of the kind in
// the same pipeline. They are answered by one server, where that is no cluster: the
// second sees what was written before the first, and perhaps what came in between.
func (e *Engine) RunBehind(ctx context.Context, other, op *scripts.Command, before, own scripts.Call) (first rueidis.RedisMessage, second Answer, err error) {
	second, err = e.loop(ctx, op, func(ctx context.Context, fresh bool) (rueidis.RedisResult, error) {
		one, two := op.ExecBehind(ctx, e.Redis, other, before, own, fresh)
		if err := one.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return one, nil
		}
		first, _ = one.ToMessage()
		return two, nil
	})
	return first, second, err
}

// exec calls the operations that there are by their types: what goes through
// the interface goes to the heap, which costs each caller its keys and arguments.
func exec(ctx context.Context, c rueidis.Client, op Operation, keys, args []string) rueidis.RedisResult {
	if s, ok := op.(steady); ok {
		op = s.Operation
	}
	switch op := op.(type) {
	case *scripts.Script:
		return op.Exec(ctx, c, keys, args)
	case *scripts.Command:
		return op.Exec(ctx, c, keys, args)
	}
	return op.Exec(ctx, c, slices.Clone(keys), slices.Clone(args))
}

type send func(ctx context.Context, fresh bool) (rueidis.RedisResult, error)

func (e *Engine) loop(ctx context.Context, op Operation, once send) (Answer, error) {
	began := e.Now()
	started, losses := began, 0
	for sends := 1; ; sends++ {
		if sends > 1 {
			started = e.Now()
		}
		// A refusal is an answer, and no reason for another connection: a server
		// that is full has no room for one of each caller.
		res, err := once(e.bounded(ctx), losses > 0)
		if err == nil {
			err = res.Error()
		}
		if err == nil || rueidis.IsRedisNil(err) {
			e.ran(ctx, op, began, sends, nil)
			msg, _ := res.ToMessage()
			return Answer{RedisMessage: msg, Started: started, Replayed: losses > 0, Nil: err != nil}, nil
		}
		what := judge(err)
		if what == lost {
			losses++
		}
		if what != final {
			e.topo.doubt()
		}
		if !again(ctx, op, what, err) || e.enough(ctx, began, losses) || !e.pause(ctx, sends) {
			err = ended(ctx, err, losses > 0)
			e.ran(ctx, op, began, sends, err)
			return Answer{}, err
		}
	}
}

// again reports whether what was answered, or not, lets the operation be sent
// once more.
func again(ctx context.Context, op Operation, what verdict, err error) bool {
	switch what {
	case refused:
		_, steady := op.(steady)
		return !OnErrand(ctx) && !(steady && Moving(err))
	case lost:
		return op.Repeatable()
	}
	return false
}

// ended is the error of a loop that gave up.
func ended(ctx context.Context, err error, unknown bool) error {
	if there, is := mixed(err); is {
		err = fmt.Errorf("%w (%w)", Mixed(there), err)
	}
	if Moving(err) {
		err = fmt.Errorf("%w: %w", ErrMoving, err)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w (last answer: %w)", ContextError(ctx), err)
	}
	if unknown {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

func (e *Engine) enough(ctx context.Context, began watchdog.Instant, losses int) bool {
	took := e.Now().Mono - began.Mono
	if losses > 0 && (losses >= maxLost || took > e.sendTimeout()*3/2) {
		return true
	}
	return ctx.Err() != nil || took > min(e.WatchdogTimeout/3, refusedFor)
}

// pause backs off before the next send. It is false if ctx ended meanwhile.
func (e *Engine) pause(ctx context.Context, sends int) bool {
	base := 10 * time.Millisecond << min(sends, 4)
	timer := time.NewTimer(base/2 + rand.N(base))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *Engine) ran(ctx context.Context, op Operation, began watchdog.Instant, sends int, err error) {
	if e.Observer != nil {
		e.Observer.ScriptRan(ctx, op.Label(), e.Now().Mono-began.Mono, sends, err)
	}
}

// Drop deletes a key that nobody will ask for again, and that goes by itself
// if this does not get through.
func (e *Engine) Drop(key string) {
	e.spawn(func() {
		e.Redis.Do(e.bounded(context.Background()), e.Redis.B().Del().Key(key).Build())
	})
}
