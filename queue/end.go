package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// end is one of the two ends of a queue.
type end struct {
	pop    *scripts.Command
	kind   *poller.Kind
	push   []string // the command that puts one back
	scored bool     // of a sorted set
	word   string   // of a list, in commands that name both ends
}

var (
	head    = &end{pop: lpop, kind: poller.Head, push: []string{"LPUSH"}, word: "LEFT"}
	tail    = &end{pop: rpop, kind: poller.Tail, push: []string{"RPUSH"}, word: "RIGHT"}
	lowest  = &end{pop: zpopmin, kind: poller.Lowest, push: []string{"ZADD", "NX"}, scored: true}
	highest = &end{pop: zpopmax, kind: poller.Highest, push: []string{"ZADD", "NX"}, scored: true}
)

// endOf returns the end that a kind of the poller takes from.
func endOf(k *poller.Kind) *end {
	for _, e := range []*end{head, tail, lowest, highest} {
		if e.kind == k {
			return e
		}
	}
	return nil
}

// patience is how long what takes or offers may still be answered when its ctx has
// ended, so that a wait ends with what it got.
const patience = 50 * time.Millisecond

// failures has the last failure of a pop by each node. A caller whose ctx ends does not wait for
// the error of its pop, which may not even have been sent because earlier ones fail.
type failures struct {
	mu sync.Mutex
	of map[string]failure
}

type failure struct {
	why error
	at  time.Time
}

// longestNoted is how long a failure is remembered: longer than any pop lasts.
const longestNoted = 10 * time.Minute

// failedPop returns what notes the failed sends of a pop of a key.
func (h *hub) failedPop(key string) (tell func(why error)) {
	return func(why error) {
		now := time.Now()
		h.failures.mu.Lock()
		defer h.failures.mu.Unlock()
		maps.DeleteFunc(h.failures.of, func(_ string, f failure) bool { return now.Sub(f.at) > longestNoted })
		h.failures.of[h.e.Node(key)] = failure{why, now}
	}
}

// whyUnserved returns a failure of a pop by the node of one of the keys, if that is no older.
func (h *hub) whyUnserved(keys []string, since time.Time) error {
	h.failures.mu.Lock()
	defer h.failures.mu.Unlock()
	for _, key := range keys {
		if last := h.failures.of[h.e.Node(key)]; !last.at.Before(since) {
			return last.why
		}
	}
	return nil
}

// mayBeLost logs that the answer to a pop was lost. Its caller may have gone, or wait on: nobody would be told.
func (h *hub) mayBeLost(key string, err error) {
	if errors.Is(err, ErrOutcomeUnknown) {
		h.e.Logger.Warn("an element may be lost: the answer that brought it was", "name", key, "err", err)
	}
}

// pop pops one element, which is expected to be as long as the longest of those before. If ctx ends well
// before the answer, what still comes goes back to its end: nothing was taken then.
func (h *hub) pop(ctx context.Context, from *end, key string, longest int64) ([]poller.Item, error) {
	ask := popAsk{from, longest}
	if ctx.Done() == nil {
		return h.pops.Do(ctx, side{from.pop, key}, ask)
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	defer stop()
	items, err := h.pops.Do(late, side{from.pop, key}, ask)
	if late.Err() != nil && errors.Is(err, context.Canceled) {
		err = core.ContextError(ctx)
	}
	return items, err
}

// popAny pops one element, like pop, of the first of several lists of a slot that has one.
func (h *hub) popAny(ctx context.Context, from *end, keys []string, longest int64) (key string, items []poller.Item, err error) {
	return h.popBy(ctx, from, keys[0], func() (key string, items []poller.Item, err error) {
		got, err := h.e.RunTold(ctx, paging.Plan{Bytes: longest}.Expect(lmpop{}), keys, []string{from.word}, h.failedPop(keys[0]))
		if err != nil || got.Nil {
			return "", nil, err
		}
		both, err := got.ToArray()
		if err == nil && len(both) != 2 {
			err = fmt.Errorf("an element of one of several lists has %d parts", len(both))
		}
		if err == nil {
			key, err = both[0].ToString()
		}
		if err == nil {
			items, err = from.kind.Rest(both[1])
		}
		return key, items, err
	})
}

// popBy pops by a call, for that key or several. If the caller has left, its elements are returned to the queue.
func (h *hub) popBy(ctx context.Context, from *end, key string, pop func() (string, []poller.Item, error)) (string, []poller.Item, error) {
	p := new(popped)
	_, err, answered := send.Await(h.e.Sender, ctx, patience, func() (struct{}, error) {
		p.key, p.items, p.err = pop()
		h.mayBeLost(key, p.err)
		if !p.state.CompareAndSwap(underWay, landed) && len(p.items) > 0 {
			h.putBack(from, p.key, p.items)
		}
		return struct{}{}, p.err
	})
	if !answered {
		if p.state.CompareAndSwap(underWay, left) {
			return "", nil, err
		}
		err = p.err
	}
	return p.key, p.items, err
}

// lmpop takes from the first of several lists that has something; their number is its
// first word.
type lmpop struct{}

func (lmpop) Label() string    { return "LMPOP" }
func (lmpop) Repeatable() bool { return false }

func (lmpop) Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, c.B().Arbitrary("LMPOP", decimal(int64(len(keys)))).Keys(keys...).Args(args...).Build())
}

func (lmpop) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, c.B().Arbitrary("LMPOP", decimal(int64(len(keys)))).Keys(keys...).Args(args...).Blocking())
}

// popped is the result of a pop whose caller may have left meanwhile.
type popped struct {
	state atomic.Int32 // one of the three below
	key   string
	items []poller.Item
	err   error
}

const (
	underWay = iota
	landed
	left
)

// popNow makes one pop. One without a number is answered with a text.
func (h *hub) popNow(ctx context.Context, from *end, key string, n int, p paging.Plan) ([]poller.Item, error) {
	if n == 1 && !from.scored {
		text, there, err := send.Text(h.e.RunTold(ctx, p.Expect(from.pop), []string{key}, nil, h.failedPop(key)))
		if err != nil || !there {
			return nil, err
		}
		return []poller.Item{{Text: text}}, nil
	}
	got, err := h.e.RunTold(ctx, p.Expect(from.pop), []string{key}, []string{decimal(int64(n))}, h.failedPop(key))
	if err != nil || got.Nil {
		return nil, err
	}
	return from.kind.Rest(got.RedisMessage)
}

// putBack has elements put back to the end that they came from, in the order in
// which they stood there. It is called by tasks that Close waits for.
func (h *hub) putBack(to *end, key string, items []poller.Item) {
	items = slices.Clone(items)
	slices.Reverse(items)
	for some := range slices.Chunk(items, paging.Most/2) { // each may be two words
		b := &back{h: h, key: key, request: keys.QueueDone(key, h.requests.ID()), items: len(some), words: to.words(some)}
		h.e.CleanUpLater(key, time.Now().Add(keptFor), b.run)
	}
}

// words returns the command that puts elements back, without its key.
func (to *end) words(items []poller.Item) []string {
	words := slices.Clone(to.push)
	for _, it := range items {
		if to.scored {
			words = append(words, score(it.Score))
		}
		words = append(words, it.Text)
	}
	return words
}

// keptFor is how long elements wait for a server that takes them back.
const keptFor = 24 * time.Hour

// back is some elements on their way back.
type back struct {
	h            *hub
	key, request string
	items        int
	words        []string
	doubt        time.Time // when a send began that may have done it, or may yet
}

// run puts the elements back, again and again until the server has answered, but not beyond the time for
// which it remembers the request: nothing is ever put back twice.
func (b *back) run(ctx context.Context) error {
	if !b.doubt.IsZero() && time.Since(b.doubt) > b.h.e.Remembered() {
		b.h.e.Logger.Warn("elements may be lost: the reply to putting them back was, and the server was silent since",
			"name", b.key, "elements", b.items)
		return nil
	}
	began := time.Now()
	args := append([]string{memory}, b.words...)
	got, err := b.h.e.Run(ctx, send.Identified{Script: backScript}, []string{b.key, b.request}, args)
	switch {
	case errors.Is(err, ErrOutcomeUnknown) && b.doubt.IsZero():
		b.doubt = began
	case err == nil && !got.Replayed && b.doubt.IsZero():
		b.h.requests.Forget(b.key, b.request) // there is no copy of it that may come late
	}
	return err
}
