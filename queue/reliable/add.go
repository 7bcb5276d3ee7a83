package reliable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// lanes is how many exchanges that add to one queue may be under way.
	lanes = 2
	// mostAdded and mostBytes bound how long one exchange keeps the server.
	mostAdded = 1000
	mostBytes = 1 << 20
)

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
}

func (a *adding) all() []item {
	if a.items == nil {
		return a.one[:]
	}
	return a.items
}

func (a *adding) size() (n int) {
	for _, it := range a.all() {
		n += len(it.body)
	}
	return n
}

// added is what became of them: their ids begin with first, and codes says of each
// what add.lua said; "": all were added.
type added struct {
	first int64
	codes string
	other []int64 // of which the duplicates are, in their order
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
		count, size = count+len(c.Ask.all()), size+c.Ask.size()
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

// contents returns the dedup keys of a batch, and how many messages there may be, with the
// bodies behind the options of all, or each behind its own.
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
				once = append(once, c.Ask.of.once(it.once))
				text = decimal(len(once)) + text[1:]
			}
			texts = append(texts, text, it.body)
		}
	}
	return once, texts
}

// errOvertaken says that the lane knows a later request already, which takes a
// client id that was used before, by a clock that was ahead.
var errOvertaken = errors.New("the server remembers a later request of this client id")

// append has add.lua run once: one of which nobody knows whether it ran never runs
// later.
func (h *hub) append(of *names, flight int, once, more []string) (first int64, codes string, others []int64, lacking, err error) {
	for range 2 {
		r := h.e.Request(of.lane, flight)
		args := append(h.e.Preamble(r, of.wake), counts(h.e))
		got, acks, err := h.run(of.on(r.Lane, once...), append(args, more...))
		if err != nil {
			if errors.Is(err, ErrUnknown) {
				h.e.Void(r, of.key)
			}
			return 0, "", nil, nil, err
		}
		all, err := got.ToArray()
		if err != nil || len(all) == 0 {
			return 0, "", nil, nil, fmt.Errorf("%w: %w", ErrUnknown, errAnswer)
		}
		if first, err = all[0].AsInt64(); err == nil && first >= 0 && len(all) == 3 {
			codes, err = all[1].ToString()
			ids, bad := all[2].ToString()
			if err = errors.Join(err, bad); err != nil {
				return 0, "", nil, nil, fmt.Errorf("%w: %w", ErrUnknown, err)
			}
			for _, text := range strings.Fields(ids) {
				id, _ := strconv.ParseInt(text, 10, 64) // 0: the key has none
				others = append(others, id)
			}
			return first, codes, others, acks, nil
		}
		h.e.Void(r, of.key)
	}
	return 0, "", nil, nil, errOvertaken
}

var errAnswer = errors.New("the script said something else")

// run sends it, and waits for replicas, if the client does.
func (h *hub) run(on, args []string) (got send.Answer, lacking, err error) {
	if h.e.ReplicaAcks == 0 {
		got, err = h.e.Run(context.Background(), addScript, on, args)
		return got, nil, err
	}
	got, acks, err := h.e.RunAcked(context.Background(), addScript, on, args)
	if acks < int64(h.e.ReplicaAcks) {
		lacking = fmt.Errorf("%w: fewer than %d within %v", core.ErrNotReplicated, h.e.ReplicaAcks, h.e.AckTimeout)
	}
	return got, lacking, err
}
