package chaos

import (
	"context"
	"strconv"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/sortedset"
)

func sortedOf(c *rueidisson.Client, name string) *sortedset.Set[int64] {
	return sortedset.New[int64](c, name)
}

// score adds one to the score of a member, whose answer says how often that was done.
func score(ctx context.Context, w *worker, _ context.Context, name string) {
	w.holds++
	_ = w.operation(name, "score", 0, func() (int64, error) {
		n, err := sortedOf(w.c, name).AddScore(ctx, 1, 1)
		return int64(n), err
	})
}

// scoredOnce judges the score as the Updates of a bucket are judged.
func scoredOnce(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	n, _, err := sortedOf(c, name).Score(ctx, 1)
	if err != nil {
		return []string{err.Error()}, 0
	}
	return countedOnce(operations(events, name, "score"), int64(n))
}

// scoreOrPop adds a member to a sorted set, or removes the first or the last one.
func scoreOrPop(ctx context.Context, w *worker, _ context.Context, name string) {
	s, v := sortedOf(w.c, name), w.fresh(w.r.proc)
	switch w.rnd.IntN(4) {
	case 0, 1:
		_ = w.operation(name, "offer", v, func() (int64, error) { return v, happened(s.Add(ctx, float64(w.rnd.IntN(9)), v)) })
	case 2:
		_ = w.operation(name, "poll", 0, func() (int64, error) { return firstOf(s.PopMin(ctx, 1)) })
	case 3:
		_ = w.operation(name, "poll", 0, func() (int64, error) { return firstOf(s.PopMax(ctx, 1)) })
	}
}

func firstOf(all []sortedset.Entry[int64], err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, queue.ErrEmpty
	}
	return all[0].Value, nil
}

// addOrPopText does that with a set of texts.
func addOrPopText(ctx context.Context, w *worker, _ context.Context, name string) {
	l, v := sortedset.NewLex(w.c, name), w.fresh(w.r.proc)
	if w.rnd.IntN(2) == 0 {
		_ = w.operation(name, "offer", v, func() (int64, error) {
			n, err := l.Add(ctx, strconv.FormatInt(v, 10))
			return v, happened(n == 1, err)
		})
		return
	}
	_ = w.operation(name, "poll", 0, func() (int64, error) {
		all, err := l.PopMin(ctx, 1)
		if err != nil {
			return 0, err
		}
		if len(all) == 0 {
			return 0, queue.ErrEmpty
		}
		return strconv.ParseInt(all[0], 10, 64)
	})
}

// poppedOnce judges a sorted set as a queue is judged: each member is popped once at most.
func poppedOnce(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	_, found, chances = drained(ctx, func(ctx context.Context) (left []int64, err error) {
		all, err := sortedOf(c, name).PopMin(ctx, 1<<20)
		for _, e := range all {
			left = append(left, e.Value)
		}
		return left, err
	}, name, events)
	return found, chances
}
