package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/rueidis"
)

// finding is what inspect tells of what is no lock.
type finding interface{ print(w io.Writer) }

// look is a look at one name.
type look struct {
	*tool
	redis rueidis.Client
	name  string
}

// nobody is what a name without a key is of.
var nobody finding = nothing{}

type nothing struct{}

func (nothing) print(io.Writer) {}

// object returns what name is of, nobody perhaps. nil: it is a lock's.
func (l *look) object(ctx context.Context) (finding, error) {
	h, err := readHash(ctx, l.redis, l.name)
	switch {
	case err != nil:
		return l.number(ctx, err)
	case h.entries == 0:
		return nobody, nil
	case h.cache():
		return h.asMap("cache"), nil
	}
	if m, err := l.multimap(ctx, h); m != nil || err != nil {
		return m, err
	}
	if b := h.asBarrier(); b != nil {
		return b, l.arrived(ctx, b)
	}
	if r := h.asRedissonLimiter(); r != nil {
		return r, nil
	}
	if ofLock(h.page) {
		return nil, nil
	}
	return h.asMap("map"), nil
}

// ended returns a time to live as people read it, "" if there is none.
func ended(ms int64) string {
	if ms < 0 {
		return ""
	}
	return fmt.Sprintf("remaining\t%s\n", time.Duration(ms)*time.Millisecond)
}
