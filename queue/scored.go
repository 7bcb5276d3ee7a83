package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/poller"
)

// priority is a handle on a sorted set.
type priority[T any] struct{ *handle[T] }

// score is a score as Redis reads it.
func score(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// offer offers in as many commands as it takes.
func (q *priority[T]) offer(ctx context.Context, how []string, vs []Scored[T]) (added int64, err error) {
	if err = q.usable(ctx); err != nil {
		return 0, q.failed("offer to", err)
	}
	words, err := q.words(vs)
	for err == nil && len(words) > 0 {
		some := words[:2*cutPairs(words)]
		words = words[len(some):]
		var n int64
		n, err = write(ctx, q.handle, engine.Number, zadd, []string{q.key}, append(how[:len(how):len(how)], some...)...)
		added += n
		q.offered(ctx, len(some)/2, err)
	}
	return added, q.failed("offer to", err)
}

// words is each element behind its score.
func (q *priority[T]) words(vs []Scored[T]) ([]string, error) {
	words := make([]string, 0, 2*len(vs))
	for _, v := range vs {
		if math.IsNaN(v.Score) || math.IsInf(v.Score, 0) {
			return nil, fmt.Errorf("%w: a score of %v: no finite number", ErrOption, v.Score)
		}
		texts, err := q.encode(v.Value)
		if err != nil {
			return nil, err
		}
		words = append(words, score(v.Score), texts[0])
	}
	return words, nil
}

// cutPairs is how many pairs of some words go out as one.
func cutPairs(words []string) int {
	size := 0
	for i := 0; i < len(words); i += 2 {
		if size += len(words[i]) + len(words[i+1]); i > 0 && size > mostWritten || i == 2*mostInOne {
			return i / 2
		}
	}
	return len(words) / 2
}

func (q *priority[T]) poll(ctx context.Context, from *end) (v Scored[T], err error) {
	if err = q.usable(ctx); err == nil {
		var items []poller.Item
		items, err = q.h.pop(ctx, from, q.key, q.seen.most())
		q.seen.watch(textsOf(items, err))
		v, err = q.only(items, err)
		q.took(ctx, 1, err)
	}
	return v, q.failed("poll", err)
}

// only is the only element of what was asked for, or that there is none.
func (q *priority[T]) only(items []poller.Item, err error) (v Scored[T], _ error) {
	switch {
	case err != nil:
		return v, err
	case len(items) == 0:
		return v, ErrEmpty
	}
	return q.scored(items[0])
}

// scored is an element.
func (q *priority[T]) scored(it poller.Item) (Scored[T], error) {
	v, err := q.decode(it.Text)
	return Scored[T]{v, it.Score}, err
}

// all leaves out what does not decode, and tells.
func (q *priority[T]) all(items []poller.Item) ([]Scored[T], error) {
	vs := make([]Scored[T], 0, len(items))
	var undecoded []error
	for _, it := range items {
		if v, err := q.scored(it); err != nil {
			undecoded = append(undecoded, err)
		} else {
			vs = append(vs, v)
		}
	}
	return vs, errors.Join(undecoded...)
}

func (q *priority[T]) pollN(ctx context.Context, n int) (vs []Scored[T], err error) {
	if err = q.usable(ctx); err == nil {
		err = countable(n)
	}
	var items []poller.Item
	if err == nil {
		_, err = q.popUpTo(int64(n), func(n int, p pages) ([]string, error) {
			some, err := q.h.popMany(ctx, lowest, q.key, n, p)
			items = append(items, some...)
			return textsOf(some, err)
		})
		if err == nil && len(items) == 0 {
			err = ErrEmpty
		}
	}
	if len(items) > 0 {
		var bad error
		vs, bad = q.all(items)
		err = errors.Join(bad, err)
		q.took(ctx, len(items), nil)
	}
	return vs, q.failed("poll", err)
}

func (q *priority[T]) take(ctx context.Context, from *end) (v Scored[T], err error) {
	var it poller.Item
	if err = q.usable(ctx); err == nil {
		_, it, err = q.h.take(ctx, from, []string{q.key}, q.seen.most())
	}
	if err == nil {
		q.seen.saw(it.Text)
		v, err = q.scored(it)
		q.took(ctx, 1, err)
	}
	return v, q.failed("take from", err)
}

func (q *priority[T]) peek(ctx context.Context, index string) (v Scored[T], err error) {
	if err = q.usable(ctx); err == nil {
		v, err = q.only(read(ctx, q.handle, scores, zrange, index, index, "WITHSCORES"))
	}
	return v, q.failed("peek at", err)
}

// scores is an answer that is elements with their scores.
func scores(got engine.Answer, err error) ([]poller.Item, error) {
	if err != nil || got.Nil {
		return nil, err
	}
	return lowest.kind.Rest(got.RedisMessage)
}

func (q *priority[T]) score(ctx context.Context, v T) (f float64, there bool, err error) {
	var texts []string
	if err = q.usable(ctx); err == nil {
		texts, err = q.encode(v)
	}
	var got *float64
	if err == nil {
		got, err = read(ctx, q.handle, number, zscore, texts[0])
	}
	if got != nil {
		f, there = *got, true
	}
	return f, there, q.failed("look at", err)
}

// number is an answer that is a number or nil.
func number(got engine.Answer, err error) (*float64, error) {
	if err != nil || got.Nil {
		return nil, err
	}
	f, err := got.AsFloat64()
	return &f, err
}

func (q *priority[T]) remove(ctx context.Context, vs []T) (gone int64, err error) {
	var texts []string
	if err = q.usable(ctx); err == nil {
		texts, err = q.encode(vs...)
	}
	for err == nil && len(texts) > 0 {
		some := texts[:cut(texts)]
		texts = texts[len(some):]
		var n int64
		n, err = write(ctx, q.handle, engine.Number, zrem, []string{q.key}, some...)
		gone += n
	}
	return gone, q.failed("remove from", err)
}

func (q *priority[T]) length(ctx context.Context) (n int64, err error) {
	if err = q.usable(ctx); err == nil {
		n, err = read(ctx, q.handle, engine.Number, zcard)
	}
	return n, q.failed("count", err)
}

// drain takes as many elements as there are when it begins.
func (q *priority[T]) drain(ctx context.Context) (vs []Scored[T], err error) {
	var undecoded []error
	n, err := q.length(ctx)
	if err != nil {
		return nil, err
	}
	p := q.seen.takes(n)
	for n > 0 && err == nil {
		var items []poller.Item
		if items, err = q.h.popMany(ctx, lowest, q.key, int(min(n, p.n)), p); len(items) == 0 {
			break
		}
		texts, _ := textsOf(items, nil)
		p.saw(len(items), q.seen.saw(texts...))
		q.took(ctx, len(items), nil)
		some, bad := q.all(items)
		vs, undecoded, n = append(vs, some...), append(undecoded, bad), n-int64(len(items))
	}
	return vs, q.failed("drain", errors.Join(append(undecoded, err)...))
}

func (q *priority[T]) values(ctx context.Context) iter.Seq2[Scored[T], error] {
	return func(yield func(Scored[T], error) bool) {
		p := q.seen.walks(page)
		for at := int64(0); ; {
			n := p.n
			items, err := q.window(ctx, at, p)
			if err != nil {
				yield(Scored[T]{}, q.failed("walk", err))
				return
			}
			for _, it := range items {
				if v, err := q.scored(it); !yield(v, engine.Notice(q.failed("walk", err))) {
					return
				}
			}
			if int64(len(items)) < n {
				return
			}
			at += n
			texts, _ := textsOf(items, nil)
			p.saw(len(items), q.seen.saw(texts...))
		}
	}
}

func (q *priority[T]) window(ctx context.Context, at int64, p pages) ([]poller.Item, error) {
	if err := q.usable(ctx); err != nil {
		return nil, err
	}
	return read(ctx, q.handle, scores, p.expecting(zrange), decimal(at), decimal(at+p.n-1), "WITHSCORES")
}
