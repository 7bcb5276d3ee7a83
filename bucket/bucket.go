package bucket

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Bucket is a handle on the value of one name, which Redisson's RBucket shares. It
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same bucket.
type Bucket[T any] struct {
	measured
	coding[T]
}

// New returns a handle on the bucket of that name.
func New[T any](c Client, name string, opts ...Option) *Bucket[T] {
	e := c.Engine()
	coding, err := newCoding[T](e, opts)
	return &Bucket[T]{measured{common{newBase(e, "bucket", name, err)}}, coding}
}

// coding writes and reads values, and says how long they stay.
type coding[T any] struct {
	codec    codec.Codec[T]
	lifetime lifetime
}

func newCoding[T any](e *locking.Engine, opts []Option) (c coding[T], err error) {
	cfg, err := object.Options(config{}, opts, Option.applyHandle)
	if err == nil {
		c.codec, err = object.Codec[T](e, cfg.family, cfg.codec)
	}
	c.lifetime = cfg.lifetime
	return c, err
}

// encode returns a value as it is in Redis.
func (c *coding[T]) encode(e *locking.Engine, v T) (string, error) {
	text, err := codec.Encode(c.codec, v)
	if err == nil {
		err = e.Fits(len(text))
	}
	if err != nil {
		return "", fmt.Errorf("value: %w", err)
	}
	return text, nil
}

// decode returns what a bucket of that name has, if there is one.
func (c *coding[T]) decode(name string, got value) (v T, there bool, err error) {
	if !got.there {
		return v, false, nil
	}
	if v, err = codec.Decode(c.codec, got.text); err != nil {
		err = &codec.DecodeError{Name: name, Bytes: []byte(got.text), Cause: err}
	}
	return v, true, err
}

// Get returns the value, and whether there is one.
//
// Gets of one process of one bucket that come while another is on its way go out together: the server is asked once, and
// answers once.
//
// Cost: a share of one command. Errors: [ErrDecode], by a *[codec.DecodeError], and then there is a value; ctx's error and
// cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RBucket.get.
func (b *Bucket[T]) Get(ctx context.Context) (v T, there bool, err error) {
	if err = b.b.Usable(ctx); err != nil {
		return v, false, b.b.Failed("get", err)
	}
	got, err := b.b.h.get(ctx, b.b.Key)
	return b.answer("get", got, err)
}

// answer returns the value of an operation, or its error.
func (b *Bucket[T]) answer(op string, got value, err error) (v T, there bool, _ error) {
	if err == nil {
		v, there, err = b.decode(b.b.Object.Name, got)
	}
	return v, there, b.b.Failed(op, err)
}

// GetAndExpire returns the value, as Get does, and has the bucket expire when d has passed.
//
// Cost: one command. Errors: as Get, except that it is sent once: [ErrOutcomeUnknown]. Source: RBucket.getAndExpire.
func (b *Bucket[T]) GetAndExpire(ctx context.Context, d time.Duration) (v T, there bool, err error) {
	var got value
	if err = send.CheckTTL("time to live", d); err == nil {
		got, err = write(ctx, b.b, valueOf, b.b.h.answering(getex, b.b.Key), "PX", decimal(core.Millis(d)))
	}
	return b.answer("get and expire", got, err)
}

// GetAndPersist returns the value, as Get does, and makes the bucket permanent.
//
// Cost: one command. Errors: as GetAndExpire. Source: RBucket.getAndClearExpire.
func (b *Bucket[T]) GetAndPersist(ctx context.Context) (v T, there bool, err error) {
	got, err := write(ctx, b.b, valueOf, b.b.h.answering(getex, b.b.Key), "PERSIST")
	return b.answer("get and persist", got, err)
}

// Set writes the value, whatever the key has: also where that is of another type. Swap returns what was there. It is sent
// once, because a second send could overwrite a write of another client in between. After [ErrOutcomeUnknown] the value
// may or may not have been written. So it is after a ctx that ends before the answer. Call Set again where that does no
// harm.
//
// The bucket has the time to live of [WithTTL], of the call or else of the handle. Without one it is permanent, also where
// the value before had an end; [WithKeepTTL] keeps that end.
//
// Cost: one command. Errors: [ErrOutcomeUnknown]; [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the
// network's. Source: RBucket.set, RBucket.setAndKeepTTL.
func (b *Bucket[T]) Set(ctx context.Context, v T, opts ...SetOption) error {
	_, err := b.set(ctx, v, opts)
	return b.b.Failed("set", err)
}

// set sends SET with further words, and reports whether it has written.
func (b *Bucket[T]) set(ctx context.Context, v T, opts []SetOption, words ...string) (did bool, err error) {
	args, err := b.written(v, opts, words)
	if err != nil {
		return false, err
	}
	return write(ctx, b.b, func(got send.Answer, err error) (bool, error) { return err == nil && !got.Nil, err }, set, args...)
}

// written returns the arguments of SET for a value.
func (b *Bucket[T]) written(v T, opts []SetOption, words []string) ([]string, error) {
	if b.b.Bad != nil {
		return nil, b.b.Bad
	}
	l, err := b.lifetime.of(opts)
	if err != nil {
		return nil, err
	}
	text, err := b.encode(b.b.Engine, v)
	if err != nil {
		return nil, err
	}
	return append(l.words(text), words...), nil
}

// SetIfAbsent writes the value as Set does if no key has the name, and reports whether it did.
//
// Cost: one command. Errors: as Set. Source: RBucket.setIfAbsent.
func (b *Bucket[T]) SetIfAbsent(ctx context.Context, v T, opts ...SetOption) (did bool, err error) {
	did, err = b.set(ctx, v, opts, "NX")
	return did, b.b.Failed("set if absent", err)
}

// SetIfExists writes the value as Set does if a key has the name, and reports whether it did.
//
// Cost: one command. Errors: as Set. Source: RBucket.setIfExists.
func (b *Bucket[T]) SetIfExists(ctx context.Context, v T, opts ...SetOption) (did bool, err error) {
	did, err = b.set(ctx, v, opts, "XX")
	return did, b.b.Failed("set if it exists", err)
}

// Swap writes the value as Set does, and returns what was there before. A key of another type is an error, and keeps what
// it has.
//
// Cost: one command. Errors: as Set, and [ErrDecode] about what was there: then the value has been written. Source:
// RBucket.getAndSet.
func (b *Bucket[T]) Swap(ctx context.Context, v T, opts ...SetOption) (old T, had bool, err error) {
	args, err := b.written(v, opts, []string{"GET"})
	var got value
	if err == nil {
		got, err = write(ctx, b.b, valueOf, b.b.h.answering(swap, b.b.Key), args...)
	}
	return b.answer("swap", got, err)
}

// Take deletes the bucket and returns what it had, and whether there was one.
//
// Cost: one command. Errors: as Set, and [ErrDecode] about what was there: then it has been deleted. Source:
// RBucket.getAndDelete.
func (b *Bucket[T]) Take(ctx context.Context) (v T, had bool, err error) {
	got, err := write(ctx, b.b, valueOf, b.b.h.answering(getdel, b.b.Key))
	return b.answer("take", got, err)
}

// CompareAndSwap writes a value as Set does if what is there has the bytes of old, and reports whether it has. It
// compares bytes, not values. A codec may have several texts for one value, as msgpack has for a map, and Java writes
// doubles in a way of its own. [Bucket.Update] works for every type.
//
// Cost: one script call. Errors: as Set. Source: RBucket.compareAndSet.
func (b *Bucket[T]) CompareAndSwap(ctx context.Context, old, v T, opts ...SetOption) (did bool, err error) {
	var l lifetime
	var was, text string
	if err = b.b.Bad; err == nil {
		l, err = b.lifetime.of(opts)
	}
	if err == nil {
		was, err = b.encode(b.b.Engine, old)
	}
	if err == nil {
		text, err = b.encode(b.b.Engine, v)
	}
	if err == nil {
		did, err = write(ctx, b.b, send.Yes, swapScript, was, text, l.text())
	}
	return did, b.b.Failed("compare and swap", err)
}

// CompareAndDelete deletes the bucket if what is there has the bytes of old, and reports whether it has; see
// CompareAndSwap.
//
// Cost: one script call. Errors: as Set. Source: RBucket.compareAndSet(old, null).
func (b *Bucket[T]) CompareAndDelete(ctx context.Context, old T) (did bool, err error) {
	var was string
	if err = b.b.Bad; err == nil {
		was, err = b.encode(b.b.Engine, old)
	}
	if err == nil {
		did, err = write(ctx, b.b, send.Yes, deleteScript, was)
	}
	return did, b.b.Failed("compare and delete", err)
}
