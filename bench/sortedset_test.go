package bench

import (
	"context"
	"iter"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/sortedset"
)

// sortedSetRows: one set of 1,000 members of 4 bytes.
var sortedSetRows = []row{
	{"sorted set, Add, 1 goroutine, by ZADD", "us/call", goal{atMost: 1.05}, besideScript("sorted set add", "zadd", 1, microseconds)},
	{"sorted set, Score, 1 goroutine, by ZSCORE", "us/call", goal{}, besideScript("sorted set score", "zscore", 1, microseconds)},
	{"sorted set, Score of one set, 64 goroutines, by ZSCORE", "calls/s", goal{}, besideScript("sorted set score", "zscore", 64, asIs)},
	{"sorted set, Score of one set, 256 goroutines, by ZSCORE", "calls/s", goal{}, besideScript("sorted set score", "zscore", 256, asIs)},
	{"sorted set, Score of one set, 64 goroutines, CPU of the server", "us/call", goal{}, mapCPU("sorted set score", "zscore", 64)},
	{"sorted set, the first 10, 1 goroutine, by ZRANGE", "us/call", goal{}, besideScript("sorted set range", "zrange", 1, microseconds)},
}

func init() {
	ours := func(of func(s *sortedset.Set[string]) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
			return sortedSetImpl{c, of}, err
		}
	}
	bare := func(of func(c rueidis.Client, name string) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return bareSortedSet{c, of}, err
		}
	}
	impls["sorted set add"] = ours(func(s *sortedset.Set[string]) call {
		return func(ctx context.Context, i int) error {
			_, err := s.Add(ctx, float64(i%1000), ranked(i))
			return err
		}
	})
	impls["sorted set score"] = ours(func(s *sortedset.Set[string]) call {
		return func(ctx context.Context, i int) error { _, _, err := s.Score(ctx, ranked(i)); return err }
	})
	impls["sorted set range"] = ours(func(s *sortedset.Set[string]) call {
		return func(ctx context.Context, _ int) error {
			for _, err := range s.Range(ctx, 0, 9) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	})
	impls["zadd"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return c.Do(ctx, c.B().Zadd().Key(name).ScoreMember().ScoreMember(float64(i%1000), ranked(i)).Build()).Error()
		}
	})
	impls["zscore"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			_, err := c.Do(ctx, c.B().Zscore().Key(name).Member(ranked(i)).Build()).AsFloat64()
			return err
		}
	})
	impls["zrange"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			_, err := c.Do(ctx, c.B().Zrange().Key(name).Min("0").Max("9").Withscores().Build()).AsZScores()
			return err
		}
	})
}

// ranked returns one of the members.
func ranked(i int) string {
	i %= 1000
	return string([]byte{'m', byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)})
}

// ranks are the members with their scores.
func ranks() iter.Seq2[float64, string] {
	return func(yield func(float64, string) bool) {
		for i := range 1000 {
			if !yield(float64(i), ranked(i)) {
				return
			}
		}
	}
}

type sortedSetImpl struct {
	c  *rueidisson.Client
	of func(s *sortedset.Set[string]) call
}

func (i sortedSetImpl) locker(name string) locker {
	s := sortedset.New[string](i.c, "sorted:"+name)
	var all []sortedset.Entry[string]
	for score, member := range ranks() {
		all = append(all, sortedset.Entry[string]{Value: member, Score: score})
	}
	if _, err := s.AddMany(context.Background(), all...); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return i.of(s).locker()
}

func (i sortedSetImpl) close() { _ = i.c.Close(context.Background()) }

type bareSortedSet struct {
	c  rueidis.Client
	of func(c rueidis.Client, name string) call
}

func (i bareSortedSet) locker(name string) locker {
	name = "bare-sorted:" + name
	all := i.c.B().Zadd().Key(name).ScoreMember()
	for score, member := range ranks() {
		all = all.ScoreMember(score, member)
	}
	if err := i.c.Do(context.Background(), all.Build()).Error(); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return i.of(i.c, name).locker()
}

func (i bareSortedSet) close() { i.c.Close() }
