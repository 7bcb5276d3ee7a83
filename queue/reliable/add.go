package reliable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// lanes is how many exchanges that add to one queue may be under way.
	lanes = 2
	// mostAdded and mostBytes bound how long one exchange keeps the server.
	mostAdded = 1000
	mostBytes = 1 << 20
)

// Add puts a message at the end of the queue, and returns its id, a number that the
// queue gives to no other: see [WithDelay], [WithAt], [WithPriority], [WithGroup],
// [WithDedup], [WithUnique], [WithExpiry], [WithTimeout], [WithAttempts], [WithBackoff] and [WithHeader].
//
// Once Add has returned, the message is stored until it is acknowledged. It
// is added once, however often the call has to be sent. Calls of a process that come
// while others are on their way are sent together, in their order. If ctx ends, Add returns
// [ErrOutcomeUnknown]: the message was added, or never will be. Repeat it with a
// dedup key.
//
// Cost: one script call for all that go together. Errors: [ErrDuplicate]; [ErrFull]; ctx's error and cause;
// [ErrInvalidArgument]; [ErrOutcomeUnknown]; [ErrClosed]; rueidisson.ErrNotReplicated with rueidisson.WithReplicaAcks,
// when the message is on the master only; those of Redis.
func (q *Queue[T]) Add(ctx context.Context, v T, opts ...AddOption) (id int64, err error) {
	p, sealed, err := q.putting(ctx, opts)
	a := adding{of: q.of, capacity: q.cfg.capacity}
	if err == nil {
		a.one[0], err = q.item(p, sealed, v)
	}
	var got added
	if err == nil {
		got, err = q.add(ctx, a)
	}
	if err == nil {
		id, err = got.of(0)
	}
	return id, q.failed("add to", err)
}

// AddAll adds messages, all with the same options, in pieces of 1,000, or of a
// megabyte. Each piece is added as a whole. The ids are in the order of the values.
// A message that was not added has the id 0. The error then wraps the reason of the first of
// them, and the pieces after one that failed are not sent.
// [WithDedup] and [WithUnique] are for single messages.
//
// Cost: one script call for each piece. Errors: as [Queue.Add].
func (q *Queue[T]) AddAll(ctx context.Context, values []T, opts ...AddOption) (ids []int64, err error) {
	p, sealed, err := q.putting(ctx, opts)
	if err == nil && (p.once != "" || p.unique != "") && len(values) > 1 {
		err = fmt.Errorf("%w: a dedup key or a unique key is that of one message", ErrInvalidArgument)
	}
	items := make([]item, 0, len(values))
	for i := 0; err == nil && i < len(values); i++ {
		var it item
		it, err = q.item(p, sealed, values[i])
		items = append(items, it)
	}
	if err != nil || len(values) == 0 {
		return nil, q.failed("add to", err)
	}
	ids = make([]int64, len(values))
	for at := 0; at < len(items) && err == nil; {
		n := together(len(items)-at, mostAdded, func(i int) int { return len(items[at+i].body) })
		var got added
		if got, err = q.add(ctx, adding{of: q.of, capacity: q.cfg.capacity, items: items[at : at+n]}); err != nil {
			break
		}
		for i := range n {
			id, bad := got.of(i)
			if ids[at+i] = id; err == nil {
				err = bad
			}
		}
		at += n
	}
	return ids, q.failed("add to", err)
}

// putting returns what the options of an Add say, if it can be used, and what stands before
// its values.
func (q *Queue[T]) putting(ctx context.Context, opts []AddOption) (p *putting, sealed string, err error) {
	if err := q.usable(ctx); err != nil {
		return nil, "", err
	}
	p, err = resolveAdd(opts, q.h.e.Logger)
	if err != nil {
		return nil, "", err
	}
	head := p.head
	head.Added = q.h.e.Wall()
	sealed, err = seal(head)
	if err == nil && len(sealed) > longestHeader {
		err = fmt.Errorf("%w: the header has more than %d bytes", ErrInvalidArgument, longestHeader)
	}
	return p, sealed, err
}

// item returns a message as add.lua has it.
func (q *Queue[T]) item(p *putting, sealed string, v T) (it item, err error) {
	value, err := codec.Encode(q.codec, v)
	if err == nil && len(value) > q.cfg.maxBody {
		err = fmt.Errorf("%w: %d bytes are more than the %d of WithMaxBody", ErrInvalidArgument, len(value), q.cfg.maxBody)
	}
	if err != nil {
		return it, fmt.Errorf("message: %w", err)
	}
	body := sealed + value
	return item{p, body}, q.h.e.Fits(len(body))
}

// add adds messages together with those of other callers. A caller that has left before the answer gets [ErrOutcomeUnknown].
func (q *Queue[T]) add(ctx context.Context, a adding) (added, error) {
	got, err := q.h.adds.Do(ctx, q.of.key, a)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrOutcomeUnknown) {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return got, err
}

// item is one message that is to be added.
type item struct {
	*putting
	body string
}

// adding is messages of one caller, which go in one piece.
type adding struct {
	of       *names
	capacity int64
	items    []item
	one      [1]item // what items is of a caller with a single message
	transfer bool    // the message is cancelled if its caller has left before the answer
}

func (a *adding) all() []item {
	if a.items == nil {
		return a.one[:]
	}
	return a.items
}

// added is what became of them: their ids begin with first, and codes says of each
// what add.lua said; "": all were added.
type added struct {
	first int64
	codes string
	other []int64 // the ids that the duplicates repeat, in their order
	err   error   // too few replicas have them
}

func (a *added) of(i int) (id int64, err error) {
	if a.codes != "" {
		switch a.codes[i] {
		case 'd':
			n := strings.Count(a.codes[:i], "d")
			if n >= len(a.other) {
				return 0, ErrDuplicate
			}
			return 0, &DuplicateError{ID: a.other[n]}
		case 'f':
			return 0, ErrFull
		}
	}
	return a.first + int64(i), a.err
}

type addCall = combine.Call[adding, added]

// cutAdds returns how many of the waiting calls go out as one.
func cutAdds(waiting []*addCall) int {
	count, size := 0, 0
	for i, c := range waiting {
		count += len(c.Ask.all())
		for _, it := range c.Ask.all() {
			size += len(it.body)
		}
		if i > 0 && (count > mostAdded || size > mostBytes || c.Ask.capacity != waiting[0].Ask.capacity) {
			return i
		}
	}
	return len(waiting)
}

// sendAdds makes one exchange for several callers, in the order of their calls.
func (h *hub) sendAdds(_ string, flight int, batch []*addCall) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	of := batch[0].Ask.of
	once, texts := h.contents(batch)
	first, codes, others, lacking, err := h.append(of, flight, once, texts)
	if err != nil {
		return err
	}
	at := 0
	for _, c := range batch {
		n := len(c.Ask.all())
		c.Answer = added{first: first + int64(at), err: lacking}
		if codes != "" {
			c.Answer.codes = codes[at : at+n]
			dups := strings.Count(c.Answer.codes, "d")
			c.Answer.other, others = others[:min(dups, len(others))], others[min(dups, len(others)):]
		}
		at += n
	}
	if o := h.e.Messages; o != nil {
		if n := at - len(codes) + strings.Count(codes, "a"); n > 0 {
			o.Added(context.Background(), of.key, n)
		}
	}
	return nil
}

// contents returns the dedup keys of a batch, and how many messages there may be. The options
// come first, once for all bodies or before each body.
func (h *hub) contents(batch []*addCall) (once, texts []string) {
	n, like := 2, &batch[0].Ask.all()[0]
	for _, c := range batch {
		all := c.Ask.all()
		n += 2 * len(all)
		for i := range all {
			if like != nil && (all[i].text != like.text || all[i].once != "") {
				like = nil
			}
		}
	}
	texts = append(make([]string, 0, n), decimal(batch[0].Ask.capacity))
	if like != nil {
		texts = append(texts, like.text)
	} else {
		texts = append(texts, "each")
	}
	for _, c := range batch {
		for _, it := range c.Ask.all() {
			if like != nil {
				texts = append(texts, it.body)
				continue
			}
			text := it.text
			if it.once != "" {
				once = append(once, keys.ReliableOnce(c.Ask.of.key, it.once))
				text = decimal(len(once)) + text[1:]
			}
			texts = append(texts, text, it.body)
		}
	}
	return once, texts
}

// append has add.lua run once: a run whose outcome is unknown never runs later.
func (h *hub) append(of *names, flight int, once, more []string) (first int64, codes string, others []int64, lacking, err error) {
	for range 2 {
		r := h.e.Request(of.lane, flight)
		args := append(h.e.Preamble(r, of.wake), counts(h.e))
		on := of.on(r.Lane, once...)
		args = append(args, more...)
		var got send.Answer
		var lacking, err error
		if h.e.ReplicaAcks == 0 {
			got, err = h.e.Run(context.Background(), addScript, on, args)
		} else {
			var acks int64
			if got, acks, err = h.e.RunAcked(context.Background(), addScript, on, args); acks < int64(h.e.ReplicaAcks) {
				lacking = fmt.Errorf("%w: fewer than %d within %v", core.ErrNotReplicated, h.e.ReplicaAcks, h.e.AckTimeout)
			}
		}
		if err != nil {
			if errors.Is(err, ErrOutcomeUnknown) {
				h.e.Void(r, of.key)
			}
			return 0, "", nil, nil, err
		}
		all, err := got.ToArray()
		if err != nil || len(all) == 0 {
			return 0, "", nil, nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, errAnswer)
		}
		if first, err = all[0].AsInt64(); err == nil && first >= 0 && len(all) == 3 {
			codes, err = all[1].ToString()
			ids, bad := all[2].ToString()
			if err = errors.Join(err, bad); err != nil {
				return 0, "", nil, nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
			}
			for _, text := range strings.Fields(ids) {
				id, _ := strconv.ParseInt(text, 10, 64) // 0: the key has none
				others = append(others, id)
			}
			return first, codes, others, lacking, nil
		}
		h.e.Overtaken(r, of.key)
	}
	return 0, "", nil, nil, send.ErrOvertaken
}

var errAnswer = errors.New("the script said something else")
