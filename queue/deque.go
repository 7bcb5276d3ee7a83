package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// End is one of the two ends of a [Queue].
type End int

// The ends of a queue.
const (
	Head End = iota // where [Queue.Poll] and [Queue.Take] take
	Tail            // where [Queue.Offer] puts
)

// word returns the end as Redis names it.
func (e End) word() (string, error) {
	switch e {
	case Head:
		return "LEFT", nil
	case Tail:
		return "RIGHT", nil
	}
	return "", fmt.Errorf("%w: %d is no end of a queue", ErrInvalidArgument, int(e))
}

// Move takes an element from one end of the queue, puts it at an end of another queue of
// this client, and returns it, or [ErrEmpty]. See [Queue.MoveTo].
//
// Cost: one command. Errors: [ErrEmpty]; [ErrDecode]; [ErrInvalidArgument] for what is no end; as [Queue.Offer].
// Source: RDeque.move, RQueue.pollLastAndOfferFirstTo.
func (q *Queue[T]) Move(ctx context.Context, from End, to *Queue[T], at End) (v T, err error) {
	words, err := q.q.moving(ctx, from, to, at)
	if err == nil {
		v, err = q.q.one(itemsOf(whole.Write(ctx, &q.q.Object, single, lmove, []string{q.q.Key, to.q.Key}, words...)))
		q.q.moved(ctx, to, err)
	}
	return v, q.q.Failed("move an element of", err)
}

// TakeMove moves an element as [Queue.Move] does, and waits for one while the queue is empty. Only
// ctx ends the wait; TakeMove waits for a silent server for a watchdog timeout. If ctx ends,
// nothing is moved, unless a request is under way: TakeMove waits for its answer.
//
// All waiters of one queue are notified of an element at the same time, and one of them moves it.
// After [ErrOutcomeUnknown] the element is in one of the two queues.
//
// Cost: one command, and while the queue is empty a share of one that blocks, and one for each element that comes.
// Errors: [ErrDecode]; [ErrOutcomeUnknown]; [ErrInvalidArgument]; ctx's error and cause, with rueidisson.ErrUnreached
// as that of [Queue.Take]; [ErrClosed]; Redis' and the network's. Source: RBlockingDeque.move,
// RBlockingQueue.pollLastAndOfferFirstTo.
func (q *Queue[T]) TakeMove(ctx context.Context, from End, to *Queue[T], at End) (T, error) {
	return q.q.takeMove(ctx, from, to, at)
}

// PollLastN takes up to n elements from the tail, the last first, or returns [ErrEmpty]. It never
// waits for elements.
//
// Cost and errors: as [Queue.PollN].
// Source: RDeque.pollLast(limit).
func (q *Queue[T]) PollLastN(ctx context.Context, n int) ([]T, error) {
	return q.q.pollN(ctx, n, q.q.popsFrom(ctx, tail))
}

// TakeN takes up to n elements from the head, and waits for the first while the queue is
// empty, as [Queue.Take] does. It does not wait for more than one. Elements that do not decode
// are left out; TakeN then returns the others together with an error. An error of the further
// elements is returned together with the first.
//
// Cost: that of [Queue.Take] and of [Queue.PollN]. Errors: as [Queue.Take]; [ErrInvalidArgument] for an n
// below 1. Source: RBlockingQueue.pollFirstFromAny(duration, count), of one queue.
func (q *Queue[T]) TakeN(ctx context.Context, n int) ([]T, error) { return q.q.takeN(ctx, n) }

// Contains reports whether an element is v. Bytes are compared, as by [Queue.Remove].
//
// Cost: one command, which looks at every element until it has found one. Errors: as [Queue.Len]. Source:
// RQueue.contains.
func (q *Queue[T]) Contains(ctx context.Context, v T) (bool, error) { return q.q.contains(ctx, v) }

var lpos = scripts.NewCommand("LPOS", scripts.Reads)

func (q *handle[T]) contains(ctx context.Context, v T) (there bool, err error) {
	var texts []string
	if err = q.Usable(ctx); err == nil {
		texts, err = q.encode(v)
	}
	if err == nil {
		there, err = whole.Read(ctx, &q.Object, func(got send.Answer, err error) (bool, error) { return err == nil && !got.Nil, err }, lpos, texts[0])
	}
	return there, q.Failed("look into", err)
}

// moving returns the words of a move between two ends.
func (q *handle[T]) moving(ctx context.Context, from End, to *Queue[T], at End) (words []string, err error) {
	if err = q.Usable(ctx); err == nil {
		err = q.reaches(to)
	}
	for _, end := range []End{from, at} {
		word, bad := end.word()
		if err == nil {
			err = bad
		}
		words = append(words, word)
	}
	return words, err
}

func (q *handle[T]) takeMove(ctx context.Context, from End, to *Queue[T], at End) (v T, err error) {
	words, err := q.moving(ctx, from, to, at)
	if err == nil {
		var text string
		text, err = q.awaitMove(ctx, to.q.Key, words)
		if err == nil {
			v, err = q.one([]poller.Item{{Text: text}}, nil)
			q.moved(ctx, to, err)
		}
	}
	return v, q.Failed("move an element of", err)
}

// awaitMove moves an element when there is one. Each answer is waited for, whatever has
// ended meanwhile.
func (q *handle[T]) awaitMove(ctx context.Context, to string, words []string) (string, error) {
	var refused time.Time
	for wait := false; ; wait = true {
		var place poller.Place
		if wait { // before it is looked: what comes from now on is told
			place = q.h.poller.JoinFor(announced, q.seen.most(), nil, q.Key)
		}
		began := time.Now()
		texts, err := q.moveNow(ctx, to, words)
		switch {
		case err == nil:
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		}
		borne := err == nil || ctx.Err() == nil && blocked.Passes(err) && !errors.Is(err, ErrOutcomeUnknown) && time.Since(refused) < q.h.e.WatchdogTimeout
		if len(texts) > 0 || !borne {
			if wait {
				q.h.poller.Leave(place)
			}
			if len(texts) > 0 {
				return texts[0], nil
			}
			if ctx.Err() != nil {
				err, _ = q.h.unpopped(ctx, []string{q.Key}, err, began)
			}
			return "", err
		}
		if !wait {
			continue
		}
		if err != nil {
			q.h.poller.Fails(announced, q.Key, err)
		}
		got, ended := q.h.poller.Await(ctx, place)
		switch {
		case ended && ctx.Err() != nil:
			return "", send.Unanswered(ctx, got.Err)
		case ended:
			return "", ErrClosed
		case got.Err != nil:
			return "", got.Err
		}
	}
}

// moveNow moves an element, if there is one. ctx ends the re-sending, and no send.
func (q *handle[T]) moveNow(ctx context.Context, to string, words []string) (texts []string, err error) {
	if !q.h.e.During(func() {
		texts, err = single(q.h.e.RunTold(ctx, lmove, []string{q.Key, to}, words, q.h.failedPop(q.Key)))
	}) {
		return nil, ErrClosed
	}
	return texts, err
}

func (q *handle[T]) takeN(ctx context.Context, n int) (vs []T, err error) {
	if err = q.Usable(ctx); err == nil {
		err = countable(n)
	}
	var it poller.Item
	if err == nil {
		_, it, err = q.h.take(ctx, head, []string{q.Key}, q.seen.most())
	}
	if err != nil {
		return nil, q.Failed("take from", err)
	}
	items := []poller.Item{it}
	q.seen.saw(it)
	if n > 1 {
		var more []poller.Item
		more, err = q.popUpTo(int64(n-1), q.popsFrom(ctx, head))
		items = append(items, more...)
	}
	q.took(ctx, len(items), nil)
	vs, bad := q.all(items)
	return vs, q.Failed("take from", errors.Join(bad, err))
}
