package queue

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// priority is a handle on a sorted set.
type priority[T any] struct {
	elements[Scored[T]]
	coding[T]
}

// score returns a score as Redis reads it.
func score(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// offer offers in as many commands as it takes.
func (q *priority[T]) offer(ctx context.Context, how []string, vs []Scored[T]) (added int64, err error) {
	if err = q.Usable(ctx); err != nil {
		return 0, q.Failed("offer to", err)
	}
	words, err := q.words(vs)
	for err == nil && len(words) > 0 {
		n := portion(len(words)/2, paging.Most, mostWritten, func(i int) int { return len(words[2*i]) + len(words[2*i+1]) })
		some := words[:2*n]
		words = words[len(some):]
		var more int64
		more, err = whole.Write(ctx, &q.Object, send.Number, zadd, []string{q.Key}, append(how[:len(how):len(how)], some...)...)
		added += more
		q.offered(ctx, len(some)/2, err)
	}
	return added, q.Failed("offer to", err)
}

// words returns the score of each element, followed by the element.
func (q *priority[T]) words(vs []Scored[T]) ([]string, error) {
	words := make([]string, 0, 2*len(vs))
	for _, v := range vs {
		if math.IsNaN(v.Score) || math.IsInf(v.Score, 0) {
			return nil, fmt.Errorf("%w: a score of %v: no finite number", ErrInvalidArgument, v.Score)
		}
		texts, err := q.encode(v.Value)
		if err != nil {
			return nil, err
		}
		words = append(words, score(v.Score), texts[0])
	}
	return words, nil
}

func (q *priority[T]) peek(ctx context.Context, index string) (v Scored[T], err error) {
	if err = q.Usable(ctx); err == nil {
		v, err = q.one(whole.Read(ctx, &q.Object, scores, zrange, index, index, "WITHSCORES"))
	}
	return v, q.Failed("peek at", err)
}

// scores returns an answer that is elements with their scores.
func scores(got send.Answer, err error) ([]poller.Item, error) {
	if err != nil || got.Nil {
		return nil, err
	}
	return lowest.kind.Rest(got.RedisMessage)
}

func (q *priority[T]) score(ctx context.Context, v T) (f float64, there bool, err error) {
	var texts []string
	if err = q.Usable(ctx); err == nil {
		texts, err = q.encode(v)
	}
	if err == nil {
		f, err = whole.Read(ctx, &q.Object, func(got send.Answer, err error) (float64, error) {
			if there = err == nil && !got.Nil; !there {
				return 0, err
			}
			return got.AsFloat64()
		}, zscore, texts[0])
	}
	return f, there, q.Failed("look at", err)
}

func (q *priority[T]) remove(ctx context.Context, vs []T) (gone int64, err error) {
	var texts []string
	if err = q.Usable(ctx); err == nil {
		texts, err = q.encode(vs...)
	}
	for err == nil && len(texts) > 0 {
		some := texts[:cut(texts)]
		texts = texts[len(some):]
		var n int64
		n, err = whole.Write(ctx, &q.Object, send.Number, zrem, []string{q.Key}, some...)
		gone += n
	}
	return gone, q.Failed("remove from", err)
}
