package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Our own format of what waits in a delayed queue: a sorted set of ids by when they are
// due, a hash of elements by id, and a sorted set of the ids by their bytes. An id begins
// with the digest of its element, so that the ids of an element are found by it.

var (
	delayedOwnOffer  = scripts.Must(lua, "lua/delayed_own_offer.lua")
	delayedOwnRemove = scripts.Must(lua, "lua/delayed_own_remove.lua")
	delayedOwnWalk   = scripts.Must(lua, "lua/delayed_own_walk.lua")

	errNoElement = errors.New("the element is gone: somebody has removed it, or the server has evicted it")
)

// digestBytes is how much of an element's SHA-256 its ids begin with: equal elements are
// found by that.
const digestBytes = 16

func delayDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return string(sum[:digestBytes])
}

// newDelayID returns an id of an element, which is no other's.
func newDelayID(text string) string {
	id := make([]byte, digestBytes, digestBytes+uniqueBytes)
	copy(id, delayDigest(text))
	id = id[:cap(id)]
	_, _ = rand.Read(id[digestBytes:]) // it never fails
	return string(id)
}

// mostOwnRemoved bounds the elements that one script removes.
const mostOwnRemoved = 100

// removeOwn removes up to n elements.
func (q *delayed[T]) removeOwn(ctx context.Context, text string, n int64) (removed int64, err error) {
	from := delayDigest(text)
	to := from + strings.Repeat("\xff", uniqueBytes+1) // after all ids
	for removed < n && err == nil {
		most := min(n-removed, mostOwnRemoved)
		var some int64
		some, err = whole.Write(ctx, &q.Object, send.Number, delayedOwnRemove, q.of.waits(), "["+from, "("+to, decimal(most))
		if removed += some; some < most {
			break
		}
	}
	return removed, err
}

// waitingOwn walks what waits.
func (q *delayed[T]) waitingOwn(ctx context.Context) iter.Seq2[Waiting[T], error] {
	return func(yield func(Waiting[T], error) bool) {
		for at := int64(0); ; {
			some, err := q.upcomingOwn(ctx, at)
			if err != nil {
				yield(Waiting[T]{}, q.Failed("walk", err))
				return
			}
			if len(some) == 0 {
				return
			}
			for _, w := range some {
				if !yield(w.Waiting, core.Notice(q.Failed("walk", w.err))) {
					return
				}
			}
			at += int64(len(some))
		}
	}
}

// ahead is an element that waits, or why it is none.
type ahead[T any] struct {
	Waiting[T]
	err error
}

// upcomingOwn returns some of what waits, from that place on.
func (q *delayed[T]) upcomingOwn(ctx context.Context, at int64) (all []ahead[T], err error) {
	if err := q.Usable(ctx); err != nil {
		return nil, err
	}
	return send.Reading(q.h.e.Sender, ctx, func() ([]ahead[T], error) {
		got, err := q.run(ctx, delayedOwnWalk, q.of.waits()[:2], decimal(at), strconv.Itoa(page), strconv.Itoa(mostWritten))
		if err != nil {
			return nil, err
		}
		parts, err := got.ToArray()
		if err != nil {
			return nil, err
		}
		all := make([]ahead[T], len(parts)/2)
		for i := range all {
			due, err := parts[2*i].AsFloat64()
			if err != nil {
				return nil, err
			}
			all[i].Due = time.UnixMilli(int64(min(max(due, -latest), latest)))
			if parts[2*i+1].IsNil() {
				all[i].err = &codec.DecodeError{Name: q.Name, Cause: errNoElement}
				continue
			}
			text, err := parts[2*i+1].ToString()
			if err != nil {
				return nil, err
			}
			all[i].Value, all[i].err = q.decode(text)
		}
		return all, nil
	})
}
