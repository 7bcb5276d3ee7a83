package timeseries

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

const (
	// mostSwept is how many entries go at once: the server does nothing else meanwhile.
	mostSwept = 500
	// tooFar is when an entry ends that no process waits for. One without an end ends in a hundred years.
	tooFar = 10 * 365 * 24 * time.Hour
)

// swept is one time series.
type swept struct {
	h   *hub
	key string
}

// expect has a series visited at that time, ms, see [sweep.Sweeper.Expect].
func (h *hub) expect(key string, at int64) {
	if at >= h.e.Wall()+tooFar.Milliseconds() {
		return
	}
	h.sweeps.Expect(core.Key{Kind: "time series", Name: key}, at, func(known sweep.Target) sweep.Target {
		if known == nil {
			known = swept{h, key}
		}
		return known
	})
}

// Visit drops some of what has expired.
func (s swept) Visit() (v sweep.Visit) {
	began := time.Now()
	parts, err := s.sweep()
	v.Cache, v.Took = s.key, time.Since(began)
	if err != nil {
		v.Err = err
		return v
	}
	if s.h.latch.Answered(&v, parts); v.Next >= s.h.e.Wall()+tooFar.Milliseconds() {
		v.Next = sweep.Never
	}
	return v
}

func (s swept) sweep() ([]rueidis.RedisMessage, error) {
	e := s.h.e
	args := []string{e.ClientID, s.h.latch.Clock(), sweep.Kept, strconv.Itoa(mostSwept), decimal(paging.Bytes), s.h.latch.MostAhead()}
	return partsOf(e.Run(context.Background(), sweepScript, append(keys.Series(s.key), keys.SweepLatch(s.key)), args))
}

// partsOf returns an answer that is an array of two parts at least.
func partsOf(got send.Answer, err error) ([]rueidis.RedisMessage, error) {
	if err != nil {
		return nil, err
	}
	parts, err := got.ToArray()
	if err == nil && len(parts) < 2 {
		err = fmt.Errorf("an answer of %d parts", len(parts))
	}
	return parts, err
}
