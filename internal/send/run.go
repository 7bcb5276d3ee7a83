package send

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
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

// fullTries bounds the sends of a [Sender.RunBriefly] that a server without memory refuses:
// that is seldom over soon.
const fullTries = 2

// Answer is what the server said to an operation.
type Answer struct {
	rueidis.RedisMessage
	Started  watchdog.Instant // before the send that was answered
	Replayed bool             // the reply to an earlier send was lost: that one may have run, or may still arrive
	Nil      bool             // the answer is nil
}

// Operation is what [Sender.Run] sends: a script, or a plain command.
type Operation interface {
	Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult
	ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult
	// Label names it to the observer.
	Label() string
	// Repeatable says that a second run does no harm.
	Repeatable() bool
}

// noMigrationRetry is an operation that has another one beside it for a moving slot.
type noMigrationRetry struct{ Operation }

// NoMigrationRetry returns op for callers that know what to do while the slot of its
// keys moves: Run then says so at once.
func NoMigrationRetry(op Operation) Operation { return noMigrationRetry{op} }

// OnlyReads reports whether the operation itself changes nothing.
func (n noMigrationRetry) OnlyReads() bool {
	r, is := n.Operation.(interface{ OnlyReads() bool })
	return is && r.OnlyReads()
}

// Run sends a script, or a plain command, and returns its answer. One whose
// Replay is safe is sent again when its reply is lost, each time on another
// connection; any is sent again when the server refused it for a passing
// reason, or nobody was there to take it. Up to maxLost replies may be lost,
// but no more once a silent server has cost the time of two. What is long has more
// time and more tries, see [Sized]. Refusals before a lost reply and those after it
// are borne for as long each. ctx ends the re-sending, and lends its values where it goes out by itself; it does not
// abandon a send, which has a bound of its own. Of a cleanup task, what was refused is not
// sent again: a cleanup task is repeated as a whole.
//
// An error wraps ErrOutcomeUnknown if the operation may have run, unless that only reads: an operation says so by its
// OnlyReads method, or by its [Sizing].
func (s *Sender) Run(ctx context.Context, op Operation, keys, args []string) (Answer, error) {
	return s.run(ctx, op, keys, args, 0, nil)
}

// RunTold is Run that calls tell at each failed send, with its error. A final refusal, such as
// WRONGTYPE, is an answer, and no failed send. What waited for other long exchanges was not sent.
func (s *Sender) RunTold(ctx context.Context, op Operation, keys, args []string, tell func(why error)) (Answer, error) {
	return s.run(ctx, op, keys, args, 0, tell)
}

// RunBriefly is Run of what a caller asks for who may repeat it: a server without memory
// refuses it twice, and not for three seconds. What has to be done in the end, such as a
// release or a renewal, is for Run.
func (s *Sender) RunBriefly(ctx context.Context, op Operation, keys, args []string) (Answer, error) {
	return s.run(ctx, op, keys, args, fullTries, nil)
}

// run is Run; full bounds the sends that a server without memory refuses, 0 does not. Tell may be nil.
func (s *Sender) run(ctx context.Context, op Operation, keys, args []string, full int, tell func(why error)) (Answer, error) {
	op, t := transferOf(op, keys, args)
	t.full, t.tell = full, tell
	if t.seat = seatOf(ctx, s); t.seat != nil {
		defer t.leaveSeat()
	}
	var l *Leaving
	switch with := ctx.Value(callKey{}).(type) {
	case *Follower:
		return s.followed(ctx, op, t, slices.Clone(keys), slices.Clone(args), with)
	case *Leaving:
		l, t.leaving, ctx = with, with, with.Context // which observers may keep
	}
	return s.loop(ctx, op, &t, func(fresh bool) (rueidis.RedisResult, error) {
		if t.late {
			if err := s.weigh(s.Bounded(ctx), &t, slices.Clone(keys), slices.Clone(args)); err != nil {
				return rueidis.RedisResult{}, err
			}
		}
		if t.long() {
			if t.seat != nil {
				t.seat.goesAlone(&t)
			}
			return s.atLength(ctx, keys, &t, func(send context.Context) rueidis.RedisResult {
				return op.ExecFresh(send, s.Redis, slices.Clone(keys), slices.Clone(args))
			})
		}
		return s.exec(ctx, op, &t, keys, args, fresh, l)
	})
}

// RunBehind is Run of a command that only reads, right behind another of the kind in
// the same pipeline. They are answered by one server, where that is no cluster: the
// second sees what was written before the first, and perhaps what came in between.
// By says how long the second answer is, and bytes how long it may be expected to be.
func (s *Sender) RunBehind(ctx context.Context, other, op *scripts.Command, before, own scripts.Call, by *Sizing, bytes int64) (first rueidis.RedisMessage, second Answer, err error) {
	t := transfer{by: by, bytes: bytes}
	second, err = s.loop(ctx, op, &t, func(fresh bool) (rueidis.RedisResult, error) {
		send := s.Bounded(ctx)
		if t.late {
			if err := s.weigh(send, &t, own.Keys, own.Args); err != nil {
				return rueidis.RedisResult{}, err
			}
		}
		both := func(send context.Context) rueidis.RedisResult {
			one, two := op.ExecBehind(send, s.Redis, other, before, own, fresh || t.long())
			if err := one.Error(); err != nil && !rueidis.IsRedisNil(err) {
				return one
			}
			first, _ = one.ToMessage()
			return two
		}
		if t.long() {
			return s.atLength(ctx, own.Keys, &t, both)
		}
		return both(send), nil
	})
	return first, second, err
}

// exec calls the operations that there are by their types: what goes through
// the interface goes to the heap, which costs each caller its keys and arguments. Fresh is for another connection.
func exec(ctx context.Context, c rueidis.Client, op Operation, keys, args []string, fresh bool) rueidis.RedisResult {
	if fresh {
		return op.ExecFresh(ctx, c, slices.Clone(keys), slices.Clone(args))
	}
	if s, ok := op.(noMigrationRetry); ok {
		op = s.Operation
	}
	switch op := op.(type) {
	case *scripts.Script:
		return op.Exec(ctx, c, keys, args)
	case *scripts.Command:
		return op.Exec(ctx, c, keys, args)
	case *scripts.Transaction:
		return op.Exec(ctx, c, nil, nil)
	}
	return op.Exec(ctx, c, slices.Clone(keys), slices.Clone(args))
}

type sendOnce func(fresh bool) (rueidis.RedisResult, error)

func (s *Sender) loop(ctx context.Context, op Operation, t *transfer, once sendOnce) (Answer, error) {
	began := s.Now()
	started, losses := began, 0
	t.began = began.Mono
	for sends := 1; ; sends++ {
		if sends > 1 {
			started = s.Now()
		}
		// A refusal is an answer, and no reason for another connection: a server
		// that is full has no room for one of each caller.
		res, err := once(losses > 0)
		if err == nil {
			err = res.Error()
		}
		if err == nil || rueidis.IsRedisNil(err) {
			s.silence.answered(started.Mono)
			s.ran(ctx, op, began, sends, nil)
			msg, _ := res.ToMessage()
			return Answer{RedisMessage: msg, Started: started, Replayed: losses > 0, Nil: err != nil}, nil
		}
		what := classify(err)
		switch _, replied := rueidis.IsRedisErr(err); {
		case replied:
			s.silence.answered(started.Mono)
		case what == lost && ctx.Err() == nil && isLate(err):
			s.silence.failed(started.Mono, s.Now().Mono, err)
		}
		if t.tell != nil && what != final && !errors.Is(err, errNoTurn) && !errors.Is(err, errLeft) {
			t.tell(err)
		}
		if what == lost {
			if losses++; losses == 1 {
				t.first = started.Mono
			}
			t.lost(err, s.Now().Mono)
		}
		if what != final && !errors.Is(err, errLeft) {
			s.Topo.MarkStale()
		}
		isFull := t.full > 0 && sends >= t.full && strings.HasPrefix(strings.TrimPrefix(err.Error(), discarded), "OOM ")
		if isFull || !again(ctx, op, what, err) || s.enough(ctx, t, what, losses) || !s.pause(ctx, sends) || t.leaving.over() {
			err = ended(ctx, err, losses > 0, t.reads())
			s.ran(ctx, op, began, sends, err)
			return Answer{}, err
		}
	}
}

// again reports whether what was answered, or not, lets the operation be sent
// once more.
func again(ctx context.Context, op Operation, what class, err error) bool {
	switch what {
	case refused:
		_, steady := op.(noMigrationRetry)
		return !OnCleanup(ctx) && !(steady && Moving(err))
	case lost:
		return op.Repeatable() && !errors.Is(err, errLeft)
	}
	return false
}

// ended returns the error of a loop that gave up.
func ended(ctx context.Context, err error, unknown, reads bool) error {
	if there, is := core.FamilyThere(err); is {
		err = fmt.Errorf("%w (%w)", core.Mixed(there), err)
	}
	if Moving(err) {
		err = fmt.Errorf("%w: %w", core.ErrSlotMoving, err)
	}
	if ctx.Err() != nil && classify(err) != final {
		err = Unanswered(ctx, err)
	}
	switch {
	case errors.As(err, new(*scripts.ApartError)):
		err = fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err)
	case unknown && reads:
		err = fmt.Errorf("the reply was lost: %w", err)
	case unknown:
		err = fmt.Errorf("%w: the reply was lost: %w", core.ErrOutcomeUnknown, err)
	}
	return err
}

// enough reports whether an operation whose last send was lost or refused is not sent again.
func (s *Sender) enough(ctx context.Context, t *transfer, what class, losses int) bool {
	now, refused := s.Now().Mono, t.began
	if losses > 0 {
		silent := losses >= maxLost || now-t.first > s.SendTimeout()*3/2
		stood := losses == 1 && !t.long() && t.by == nil && !t.acked // a send has a bound: this process noticed its end late
		switch took := now - t.began; {
		case silent && !stood && what == lost && !t.more(losses, took, s.SendTimeout(), s.Remembered()):
			return true
		case silent && t.forgotten(took, s.SendTimeout(), s.Remembered()):
			return true
		}
		refused = t.at // what is refused after a loss is borne from then on
	}
	return ctx.Err() != nil || s.Base().Err() != nil || now-refused > min(s.WatchdogTimeout/3, refusedFor)
}

// pause backs off before the next send. It is false if ctx ended meanwhile.
func (s *Sender) pause(ctx context.Context, sends int) bool {
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

func (s *Sender) ran(ctx context.Context, op Operation, began watchdog.Instant, sends int, err error) {
	if s.Observer != nil {
		s.Observer.ScriptRan(ctx, op.Label(), s.Now().Mono-began.Mono, sends, err)
	}
}

// Drop deletes a key that nobody will ask for again, and that goes by itself
// if this does not get through.
func (s *Sender) Drop(key string) {
	s.Spawn(func() {
		s.Redis.Do(s.Bounded(context.Background()), s.Redis.B().Del().Key(key).Build())
	})
}
