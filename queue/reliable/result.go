package reliable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// AckWith acknowledges the message, as [Message.Ack] does, with a result, which the queue keeps for
// ttl, for [Queue.Result] and [Queue.Await]. Each result ends at its own time. A result is kept
// only if the ack counts.
//
// Cost and errors: as [Message.Ack]; [ErrInvalidArgument] for a result above [WithMaxBody].
func (m *Message[T]) AckWith(ctx context.Context, result []byte, ttl time.Duration) error {
	err := send.CheckTTL("time of a result", ttl)
	if err == nil && len(result) > m.q.cfg.maxBody {
		err = fmt.Errorf("%w: a result of %d bytes is more than the %d of WithMaxBody", ErrInvalidArgument, len(result), m.q.cfg.maxBody)
	}
	if err == nil {
		err = m.d.settle(ctx, &settle{result: result, kept: core.Millis(ttl)})
	}
	return m.failed("acknowledge", err)
}

// Result returns what a message was acknowledged with by AckWith. Cost: one script call,
// shared with other calls of this process. Errors: [ErrPending] if the message is not
// done; [ErrBuried]; [ErrNotFound] if there is neither a message of that id nor a
// result, or no more; ctx's error and cause, with rueidisson.ErrUnreached if the last exchange with the server has
// failed by then; [ErrInvalidArgument]; [ErrClosed]; those of Redis.
func (q *Queue[T]) Result(ctx context.Context, id int64) ([]byte, error) {
	err := q.usable(ctx)
	var text []byte
	if err == nil {
		text, err = q.result(ctx, id)
	}
	return text, q.failed("read the result of message "+decimal(id)+" of", err)
}

func (q *Queue[T]) result(ctx context.Context, id int64) ([]byte, error) {
	text, err := q.outcome(ctx, id)
	if err != nil {
		return nil, err
	}
	return resultOf(text)
}

// outcome returns what result.lua says of a message.
func (q *Queue[T]) outcome(ctx context.Context, id int64) (string, error) {
	l := q.h.ears.Get(q.of.key)
	defer q.h.ears.Put(q.of.key, l)
	text, err := q.h.results.Do(ctx, q.of.key, asking{q.of, id})
	if err != nil && ctx.Err() != nil {
		err = l.outage.Because(q.h.e.Sender, err)
	}
	return text, err
}

func resultOf(text string) ([]byte, error) {
	switch text[0] {
	case 'r', 'b':
		return []byte(text[1:]), nil
	case 'w':
		return nil, ErrPending
	case 'd':
		return nil, buriedBy(text[1:])
	}
	return nil, ErrNotFound
}

// buriedBy returns the error for a message that was buried by a cause.
func buriedBy(cause string) error {
	if cause == "" {
		return ErrBuried
	}
	return fmt.Errorf("%w: %s", ErrBuried, cause)
}

// Await waits for the result of a message. The wait ends with ctx. A notification wakes it, and it
// looks every few seconds as well.
//
// Cost: one subscription and one timer for all waiters of a process on the queue. A look is one script call,
// which waiters share. Errors: [ErrBuried] for a message that was buried, and [ErrNotFound] for one
// that was removed, has expired or was acknowledged without a result, when the notification arrives; [ErrNotFound] at the
// next look for one whose result is kept no more; otherwise as [Queue.Result], without [ErrPending].
func (q *Queue[T]) Await(ctx context.Context, id int64) ([]byte, error) {
	err := q.usable(ctx)
	var text string
	if err == nil {
		text, err = q.awaited(ctx, id)
	}
	var result []byte
	if err == nil {
		result, err = resultOf(text)
	}
	return result, q.failed("await the result of message "+decimal(id)+" of", err)
}

// awaited waits until a message is done, and returns what result.lua says of it.
func (q *Queue[T]) awaited(ctx context.Context, id int64) (string, error) {
	l := q.h.ears.Get(q.of.key)
	defer q.h.ears.Put(q.of.key, l)
	news := make(chan struct{}, 1)
	if l.enter(id, news) {
		q.h.e.Due(core.Key{Kind: "results of a reliable queue", Name: q.of.key}, nextLook(), l.looks)
	}
	defer l.leave(id, news)
	var failing time.Time
	var failure error // of the last look; nil: it was answered
	for {
		if err := l.subscribe(ctx, q.h.e, q.of.done); err != nil && (ctx.Err() != nil || q.h.e.Open() != nil) {
			if q.h.e.Open() == nil && errors.Is(err, pubsub.ErrTrouble) {
				err = send.Unanswered(ctx, err)
			}
			return "", err
		}
		text, err := q.outcome(ctx, id)
		if err != nil && ctx.Err() != nil {
			if errors.Is(err, send.ErrUnreached) {
				return "", err
			}
			return "", send.Unanswered(ctx, failure)
		}
		failure = err
		switch {
		case err == nil && text[0] != 'w':
			return text, nil
		case err == nil:
			failing = time.Time{}
		case !send.Transient(err), !failing.IsZero() && time.Since(failing) > q.h.e.WatchdogTimeout:
			return "", err
		case failing.IsZero():
			failing = time.Now()
		}
		select {
		case <-news:
		case <-ctx.Done():
			return "", send.Unanswered(ctx, failure)
		case <-q.h.e.Closing():
			return "", ErrClosed
		}
	}
}

// nextLook returns in how long those who wait look again if nothing is heard.
func nextLook() time.Duration { return mostWait*9/10 + rand.N(mostWait/5) }

// asking is a look for a result.
type asking struct {
	of *names
	id int64
}

type resultCall = combine.Call[asking, string]

// sendResults asks for results together, and again for those that had no room in an answer.
func (h *hub) sendResults(_ string, _ int, batch []*resultCall) error {
	for len(batch) > 0 {
		left, err := h.someResults(batch)
		if err != nil {
			return err
		}
		batch = left
	}
	return nil
}

func (h *hub) someResults(batch []*resultCall) (left []*resultCall, err error) {
	ids, of := make([]string, len(batch)), batch[0].Ask.of
	on := of.parts[:len(of.parts):len(of.parts)]
	for i, c := range batch {
		ids[i] = decimal(c.Ask.id)
		on = append(on, keys.ReliableResult(of.key, ids[i]))
	}
	l := h.ears.Get(of.key) // it stays for who comes while the server does not answer
	defer h.ears.Put(of.key, l)
	got, err := h.e.RunTold(context.Background(), asksAfter, on, ids, func(why error) { l.outage.Failed(h.e.Sender, why) })
	if err == nil || !send.Transient(err) {
		l.outage.Answered()
	}
	if err != nil {
		return nil, err
	}
	all, err := got.AsStrSlice()
	if err != nil || len(all) != len(batch) || all[0] == "l" {
		return nil, errAnswer
	}
	for i, c := range batch {
		switch all[i] {
		case "":
			return nil, errAnswer
		case "l":
			left = append(left, c)
		default:
			c.Answer = all[i]
		}
	}
	return left, nil
}

// listening is all of a client who await results of one queue.
type listening struct {
	places.Entry
	outage send.Outage // of those who look for results

	mu      sync.Mutex
	waiting map[int64][]chan struct{}
	sub     *pubsub.Subscription
	joining chan struct{} // closed when the call that subscribes has an answer; nil: there is none
	refused error         // why it failed last, if not by its ctx
}

// enter has news poked when the message is done. It reports whether nobody waited before.
func (l *listening) enter(id int64, news chan struct{}) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = len(l.waiting) == 0
	l.waiting[id] = append(l.waiting[id], news)
	return first
}

// looks has all look who wait, since notifications may be lost.
func (l *listening) looks() (next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return -1
	}
	l.pokeAll()
	return nextLook()
}

// pokeAll is under the mutex.
func (l *listening) pokeAll() {
	for _, all := range l.waiting {
		poke(all)
	}
}

func (l *listening) leave(id int64, news chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.waiting[id]
	for i, other := range all {
		if other == news {
			all = append(all[:i:i], all[i+1:]...)
			break
		}
	}
	if l.waiting[id] = all; len(all) == 0 {
		delete(l.waiting, id)
	}
}

// subscribe subscribes to the ends of messages, unless that is done. One call subscribes, and the others wait for it. If it
// fails, all look without a subscription; if only its ctx has ended, another takes over.
// A node that answers commands and no subscription holds up no look.
func (l *listening) subscribe(ctx context.Context, e *locking.Engine, channel string) error {
	for {
		l.mu.Lock()
		there, other, mine := l.sub != nil, l.joining, chan struct{}(nil)
		if !there && other == nil {
			mine = make(chan struct{})
			l.joining = mine
		}
		l.mu.Unlock()
		switch {
		case there:
			return nil
		case mine != nil:
			return l.join(ctx, e, channel, mine)
		}
		select {
		case <-other:
		case <-ctx.Done():
			return l.join(ctx, e, channel, nil) // which says what trouble there is
		}
		l.mu.Lock()
		err := l.refused
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// join subscribes. Done is closed for those who wait for it; nil: there are none.
func (l *listening) join(ctx context.Context, e *locking.Engine, channel string, done chan struct{}) error {
	within, cancel := context.WithTimeout(ctx, subscribing)
	defer cancel()
	sub, err := e.SubscribeTo(within, e.Channel(channel), l.heard)
	l.mu.Lock()
	defer l.mu.Unlock()
	if done != nil {
		l.joining, l.refused = nil, nil
		if ctx.Err() == nil {
			l.refused = err
		}
		close(done)
	}
	switch {
	case err != nil:
		return err
	case l.sub != nil:
		sub.Close()
	default:
		l.sub = sub
	}
	return nil
}

// heard has those look whose messages are done, and all of them if some notifications may have been
// missed.
func (l *listening) heard(ev pubsub.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ev.Kind != pubsub.Message {
		l.pokeAll()
		return
	}
	for text := range strings.FieldsSeq(ev.Payload) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil { // the queue was deleted
			l.pokeAll()
			return
		}
		poke(l.waiting[id])
	}
}

func poke(all []chan struct{}) {
	for _, news := range all {
		select {
		case news <- struct{}{}:
		default:
		}
	}
}

// left notes that nobody waits any more.
func (l *listening) left() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sub != nil {
		l.sub.Close()
		l.sub = nil
	}
}
