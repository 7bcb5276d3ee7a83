package bucket

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// JSON is a handle on the document of one name, which Redisson's RJsonBucket shares: JSON that the server keeps in parts, so
// that a part is read and written without the rest, see [At]. The server needs the module RedisJSON. It holds nothing, as a
// [Bucket].
type JSON[T any] struct {
	common
	all      spot[T]
	lifetime lifetime
}

// NewJSON returns a handle on the document of that name. Of the options it takes [WithTTL] and [WithKeepTTL].
func NewJSON[T any](c Client, name string, opts ...TTLOption) *JSON[T] {
	e := c.Engine()
	cfg, err := object.Options(config{}, opts, TTLOption.applyHandle)
	b := newBase(e, "document", name, err)
	b.Type = document
	return &JSON[T]{common{b}, newSpot[T](b, root), cfg.lifetime}
}

// Get returns the document, and whether there is one. Members that T does not have are left out.
//
// Cost: one command. Errors: [ErrDecode], by a *[codec.DecodeError], and then there is a document; errors.ErrUnsupported,
// without the module; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source:
// RJsonBucket.get.
func (j *JSON[T]) Get(ctx context.Context) (v T, there bool, err error) { return j.all.first(ctx) }

// Set writes the document, over the one that is there. An integer of more than 64 bits is [ErrInvalidArgument]. It is sent once: after [ErrOutcomeUnknown] it may or may not have been
// written, and so it is after a ctx that ends before the answer. A key of another type is an error, and keeps what it has.
//
// The document has the time to live of [WithTTL], of the call or else of the handle. Without one it is permanent, also where
// the document before had an end, which Redisson would keep; [WithKeepTTL] keeps that end.
//
// Cost: one script call. Errors: [ErrOutcomeUnknown]; errors.ErrUnsupported, without the module; [ErrInvalidArgument]; ctx's
// error and cause; [ErrClosed]; Redis' and the network's. Source: RJsonBucket.set.
func (j *JSON[T]) Set(ctx context.Context, v T, opts ...SetOption) error {
	_, err := j.set(ctx, v, "", opts)
	return j.b.Failed("set", err)
}

// SetIfAbsent writes the document as Set does if there is none, and reports whether it did.
//
// Cost: one script call. Errors: as Set. Source: RJsonBucket.setIfAbsent.
func (j *JSON[T]) SetIfAbsent(ctx context.Context, v T, opts ...SetOption) (did bool, err error) {
	did, err = j.set(ctx, v, "NX", opts)
	return did, j.b.Failed("set if absent", err)
}

// SetIfExists writes the document as Set does if there is one, and reports whether it did.
//
// Cost: one script call. Errors: as Set. Source: RJsonBucket.setIfExists.
func (j *JSON[T]) SetIfExists(ctx context.Context, v T, opts ...SetOption) (did bool, err error) {
	did, err = j.set(ctx, v, "XX", opts)
	return did, j.b.Failed("set if it exists", err)
}

// set writes the document on a condition, and reports whether it did.
func (j *JSON[T]) set(ctx context.Context, v T, cond string, opts []SetOption) (did bool, err error) {
	text, l, err := j.written(v, opts)
	if err != nil {
		return false, err
	}
	return write(ctx, j.b, send.Yes, documentSet, text, cond, l.text())
}

// written returns a document as it is sent, and how long it stays.
func (j *JSON[T]) written(v T, opts []SetOption) (text string, l lifetime, err error) {
	if err = j.b.Bad; err == nil {
		l, err = j.lifetime.of(opts)
	}
	if err == nil {
		text, err = j.all.encoded(v)
	}
	return text, l, err
}

// Swap writes the document as Set does, and returns the one that was there before.
//
// Cost: one script call. Errors: as Set, and [ErrDecode] about what was there: then the document has been written. Source:
// RJsonBucket.getAndSet.
func (j *JSON[T]) Swap(ctx context.Context, v T, opts ...SetOption) (old T, had bool, err error) {
	text, l, err := j.written(v, opts)
	var got found
	if err == nil {
		got, err = write(ctx, j.b, j.all.found, j.all.answering(documentSwap), root, text, l.text(), "1")
	}
	return j.all.answer("swap", got, err)
}

// Take deletes the document and returns what it had, and whether there was one.
//
// Cost: one script call. Errors: as Set, and [ErrDecode] about what was there: then it has been deleted. Source:
// RJsonBucket.getAndDelete.
func (j *JSON[T]) Take(ctx context.Context) (v T, had bool, err error) {
	got, err := write(ctx, j.b, j.all.found, j.all.answering(documentTake))
	return j.all.answer("take", got, err)
}

// CompareAndSwap writes a document as Set does if the one that is there equals old, and reports whether it did. It compares the
// JSON: names of members in any order, and numbers by their value. A nil map or slice is an empty one,
// as codec.JSON writes it, and a nil pointer is null. Members that T does not have make it another document.
//
// Cost: one script call; a second one where the server spells the same JSON in another way, such as 1e2 for 100; a read where
// a document of more than 1 MB is there that is twice as long as old. Errors: as Set. Source: RJsonBucket.compareAndSet, which compares texts.
func (j *JSON[T]) CompareAndSwap(ctx context.Context, old, v T, opts ...SetOption) (did bool, err error) {
	text, l, err := j.written(v, opts)
	if err == nil {
		did, err = j.all.change(ctx, old, true, text, l)
	}
	return did, j.b.Failed("compare and swap", err)
}

// CompareAndDelete deletes the document if it equals old, and reports whether it did; see CompareAndSwap.
//
// Cost: as CompareAndSwap. Errors: as Set. Source: RJsonBucket.compareAndSet(old, null).
func (j *JSON[T]) CompareAndDelete(ctx context.Context, old T) (did bool, err error) {
	did, err = j.all.change(ctx, old, false, "", lifetime{keep: true})
	return did, j.b.Failed("compare and delete", err)
}

// Merge changes the document by a patch (RFC 7396) of any type: members that the patch has replace those of the document,
// objects are merged with objects, and a member that is null in the patch is deleted. The rest stays as it is, and so does the
// time to live. Without a document the patch becomes one, with its nulls, that is permanent.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.merge.
func (j *JSON[T]) Merge(ctx context.Context, patch any) error {
	_, err := j.all.merge(ctx, patch)
	return j.b.Failed("merge", err)
}

// Update changes the document by a function of it, in one step, as [Bucket.Update] does. Members that T does not have are lost,
// as T is written. An integer beyond 2^53 that a value of type any would round is [ErrDecode]. The document keeps its time to
// live unless [WithTTL] says otherwise, of the call or else of the handle.
//
// Cost: one command and one script call, for all Updates of a process that wait. Errors: f's; [ErrDecode]; as Set. Source: none;
// Redisson's compareAndSet in a loop does the same.
func (j *JSON[T]) Update(ctx context.Context, f func(old T, had bool) (T, Verdict, error), opts ...SetOption) (v T, there bool, err error) {
	return update(ctx, j.b, place{key: j.b.Key, json: true}, j.lifetime, updated[T]{&j.all}, f, opts)
}
