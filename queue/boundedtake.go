package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
)

// announced tells that a list has an element, and takes none: it moves the head to
// where it is. One command waits for one list.
var announced = &poller.Kind{
	Block: "BLMOVE", Alone: true, Tells: true,
	Words: func(keys []string, timeout time.Duration) []string {
		return []string{keys[0], keys[0], "LEFT", "LEFT", poller.Seconds(timeout)}
	},
	First: func(rueidis.RedisMessage) (key string, it poller.Item, err error) { return "", it, nil },
	Has:   poller.Length("LLEN"), Had: poller.Some,
	Pop: "LLEN", With: []string{},
	Rest: func(m rueidis.RedisMessage) ([]poller.Item, error) {
		n, err := m.AsInt64()
		return make([]poller.Item, min(n, 1)), err
	},
}

// takers is the callers of a process that take from one bounded queue, in order. The
// first of them asks the server, for all.
type takers struct {
	places.Entry

	mu     sync.Mutex
	line   []*taker
	asked  int           // the server is asked for elements for so many of the first
	answer chan struct{} // closed when it has answered
	why    error         // of the last send that failed, until one is answered, or the first waits in the poller
}

// taker is a caller in line.
type taker struct {
	ctx   context.Context
	first chan struct{} // with one place: it is the first in line
	got   chan taken    // with one place

	// Guarded by the mutex of takers.
	leaving bool  // its ctx, or the client, has ended
	lost    error // of an answer that was lost as it left, and may have had its element
}

// taken is what a taker is given.
type taken struct {
	text string
	err  error
}

func (l *takers) enter(ctx context.Context) *taker {
	t := &taker{ctx: ctx, first: make(chan struct{}, 1), got: make(chan taken, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line = append(l.line, t); len(l.line) == 1 {
		t.first <- struct{}{}
	}
	return t
}

// leave takes a caller out of the line. It does not while the server is asked for an
// element for it: then answered is closed when that is over. Lost is why it may not have
// got its element.
func (l *takers) leave(t *taker) (answered <-chan struct{}, lost error, left bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.leaving = true
	at := slices.Index(l.line, t)
	switch {
	case at < 0: // it got something, or was left out when the server was asked again
		return closedChannel, t.lost, len(t.got) == 0
	case at < l.asked:
		return l.answer, nil, false
	}
	if l.line = slices.Delete(l.line, at, at+1); at == 0 && len(l.line) > 0 {
		l.line[0].first <- struct{}{}
	}
	return nil, t.lost, true
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// ask returns for how many callers the server is asked now: about a megabyte if each gets so
// many bytes. Callers after the first that are leaving do not count.
func (l *takers) ask(each int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	behind := slices.DeleteFunc(l.line[1:], func(t *taker) bool { return t.leaving })
	l.line = l.line[:1+len(behind)]
	l.asked, l.answer = min(len(l.line), mostPops, max(int(paging.Bytes/each), 1)), make(chan struct{})
	return l.asked
}

// give hands elements to the first in line. An error is given to all.
func (l *takers) give(items []poller.Item, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(items)
	if err != nil {
		n = len(l.line)
	}
	for i, t := range l.line[:n] {
		if err != nil {
			t.got <- taken{err: err}
		} else {
			t.got <- taken{text: items[i].Text}
		}
	}
	if l.line = l.line[n:]; n > 0 && len(l.line) > 0 {
		l.line[0].first <- struct{}{}
	}
	if l.asked > 0 {
		l.asked = 0
		close(l.answer)
	}
}

// fails notes why the server does not answer, or nil when it has answered.
func (l *takers) fails(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = why
}

// lose notes that the answer is lost that may have had elements. Callers whose contexts have ended, or whose client
// has, are told.
func (l *takers) lose(closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.line[:l.asked] {
		if closed || t.ctx.Err() != nil {
			t.lost = fmt.Errorf("%w: %w", ErrOutcomeUnknown, l.why)
		}
	}
}

// failing returns why the callers in line are not served, or nil.
func (l *takers) failing(p *poller.Poller, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.why, p.Failing(announced, key))
}

// hand gives the reason to the poller, which forgets it when there is a connection.
func (l *takers) hand(p *poller.Poller, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		p.Fails(announced, key, l.why)
		l.why = nil
	}
}

// await waits in the poller for the first of the line. The reason for which it was not served comes back when it
// leaves, in one step: another caller that ends at the same time is told.
func (l *takers) await(ctx context.Context, closing <-chan struct{}, p *poller.Poller, at poller.Place) (got poller.Taken, ended bool) {
	select {
	case got = <-at.Got():
		return got, false
	case <-ctx.Done():
	case <-closing:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got, ended = p.Leave(at); ended {
		l.why = got.Err
	}
	return got, ended
}

// take takes an element, and waits for one.
func (q *bounded[T]) take(ctx context.Context) (v T, err error) {
	var text string
	if err = q.Usable(ctx); err == nil {
		text, err = q.takeText(ctx)
	}
	if err == nil {
		v, err = q.one([]poller.Item{{Text: text}}, nil)
		q.took(ctx, 1, err)
	}
	return v, q.Failed("take from", err)
}

func (q *bounded[T]) takeText(ctx context.Context) (string, error) {
	l := q.h.takers.Get(q.Key)
	defer q.h.takers.Put(q.Key, l)
	for t := l.enter(ctx); ; {
		select {
		case got := <-t.got:
			return got.text, got.err
		default:
		}
		select {
		case got := <-t.got:
			return got.text, got.err
		case <-t.first:
			if ctx.Err() == nil {
				q.lookForAll(ctx, l)
			}
		case <-ctx.Done():
		case <-q.h.e.Closing():
		}
		if open := q.h.e.Open(); open != nil || ctx.Err() != nil {
			why := l.failing(q.h.poller, q.Key)
			answered, lost, left := l.leave(t)
			switch {
			case left && ctx.Err() != nil:
				return "", send.Unanswered(ctx, cmp.Or(lost, why))
			case left && lost != nil:
				return "", fmt.Errorf("%w: %w", open, lost)
			case left:
				return "", open
			}
			<-answered
		}
	}
}

// lookForAll asks for elements for the callers in line, and waits for them, until the
// first caller has something, or leaves. An element is taken and its slot freed in one
// step: a connection that breaks can lose an element, and no slot.
func (q *bounded[T]) lookForAll(ctx context.Context, l *takers) {
	if q.popForAll(ctx, l) {
		return
	}
	for ctx.Err() == nil && q.h.e.Open() == nil {
		place := q.h.poller.JoinFor(announced, q.seen.most(), nil, q.Key)
		if q.popForAll(ctx, l) || ctx.Err() != nil { // what came before it stood in line
			q.h.poller.Leave(place)
			return
		}
		l.hand(q.h.poller, q.Key)
		got, ended := l.await(ctx, q.h.e.Closing(), q.h.poller, place)
		if got.Err != nil && !ended {
			l.give(nil, got.Err)
		}
		if ended || got.Err != nil || q.popForAll(ctx, l) {
			return
		}
	}
}

// popForAll takes an element for each caller in line, as far as there are some. It
// returns whether the first caller has something. ctx ends the re-sending, and no send.
func (q *bounded[T]) popForAll(ctx context.Context, l *takers) bool {
	longest := q.seen.most()
	n := l.ask(expected(longest))
	items, err := q.pop(ctx, n, paging.Plan{N: int64(n), Bytes: int64(n) * longest}, l.fails)
	if err == nil || !blocked.Passes(err) {
		l.fails(nil)
		l.give(items, err)
		return err != nil || len(items) > 0
	}
	if errors.Is(err, ErrOutcomeUnknown) {
		q.h.mayBeLost(q.Key, err)
		l.lose(q.h.e.Open() != nil) // err may have the error of ctx, which is one caller's
	}
	l.give(nil, nil)
	return false
}
