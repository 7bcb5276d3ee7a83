package bitset

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/send"
)

// Field is a number in some bits of a bitset, the highest one first. It holds nothing else than where it is.
type Field struct {
	s      *Set
	signed bool
	bits   int
	offset int64
}

// Int returns the signed number of so many bits, from 1 to 64, that begins at an offset. Its operations return
// [ErrInvalidArgument] if there is no such number.
//
// Source: RBitSet.getSigned; getByte, getShort, getInteger and getLong are those of 8, 16, 32 and 64 bits.
func (s *Set) Int(bits int, offset int64) Field { return Field{s, true, bits, offset} }

// Uint returns the unsigned number of so many bits, from 1 to 63, that begins at an offset; see Int.
//
// Source: RBitSet.getUnsigned.
func (s *Set) Uint(bits int, offset int64) Field { return Field{s, false, bits, offset} }

// Get returns the number: 0 where nothing was written.
//
// Cost: one command. Errors: [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source:
// RBitSet.getSigned, getUnsigned.
func (f Field) Get(ctx context.Context) (v int64, err error) {
	if err = f.usable(ctx); err == nil {
		v, err = read(ctx, f.s, first, bitfieldRO, "GET", f.encoding(), decimal(f.offset))
	}
	if send.UnknownCommand(err) {
		v, err = read(ctx, f.s, f.ofBits, getScript, decimals(f.offsets())...)
	}
	return v, f.s.o.Failed("get a number of", err)
}

// Set writes the number, and returns what it was. It is sent once.
//
// Cost: one command. Errors: [ErrOutcomeUnknown]; [ErrInvalidArgument], also if the field has no room for v; ctx's error and
// cause; [ErrClosed]; Redis' and the network's. Source: RBitSet.setSigned, setUnsigned, which cut what has no room.
func (f Field) Set(ctx context.Context, v int64) (old int64, err error) {
	if err = f.fits(ctx, v); err == nil {
		old, err = write(ctx, f.s, first, bitfield, "SET", f.encoding(), decimal(f.offset), decimal(v))
	}
	if send.UnknownCommand(err) {
		old, err = write(ctx, f.s, f.ofBits, writeScript, append([]string{f.bitsOf(v)}, decimals(f.offsets())...)...)
	}
	return old, f.s.o.Failed("set a number of", err)
}

// Add adds n to the number, and returns what it is then. A sum that the field has no room for wraps around, as Go's does.
// It is sent once.
//
// Cost: one command. Errors: as Set. Source: RBitSet.incrementAndGetSigned, incrementAndGetUnsigned.
func (f Field) Add(ctx context.Context, n int64) (now int64, err error) {
	if err = f.usable(ctx); err == nil {
		now, err = write(ctx, f.s, first, bitfield, "INCRBY", f.encoding(), decimal(f.offset), decimal(n))
	}
	if send.UnknownCommand(err) {
		now, err = write(ctx, f.s, f.ofBits, addScript, decimal(f.offset), f.bitsOf(n))
	}
	return now, f.s.o.Failed("add to a number of", err)
}

// usable checks what every operation needs.
func (f Field) usable(ctx context.Context) error {
	if err := f.s.usable(ctx); err != nil {
		return err
	}
	most := 63
	if f.signed {
		most = 64
	}
	if f.bits < 1 || f.bits > most || f.offset < 0 || f.offset > Bits-int64(f.bits) {
		return fmt.Errorf("%w: a number %s at offset %d: from 1 to %d bits, of %d", ErrInvalidArgument, f.encoding(), f.offset, most, int64(Bits))
	}
	return nil
}

// fits refuses a number that the field has no room for.
func (f Field) fits(ctx context.Context, v int64) error {
	if err := f.usable(ctx); err != nil {
		return err
	}
	if f.cut(uint64(v)) != v {
		return fmt.Errorf("%w: a number %s has no room for it", ErrInvalidArgument, f.encoding())
	}
	return nil
}

// encoding returns the kind of number as Redis writes it, such as i8.
func (f Field) encoding() string {
	if f.signed {
		return fmt.Sprintf("i%d", f.bits)
	}
	return fmt.Sprintf("u%d", f.bits)
}

// cut returns the number that the lowest bits of v are.
func (f Field) cut(v uint64) int64 {
	unused := 64 - f.bits
	if f.signed {
		return int64(v<<unused) >> unused
	}
	return int64(v << unused >> unused)
}

// offsets returns where its bits are.
func (f Field) offsets() []int64 {
	all := make([]int64, f.bits)
	for i := range all {
		all[i] = f.offset + int64(i)
	}
	return all
}

// bitsOf returns the lowest bits of v, a character each.
func (f Field) bitsOf(v int64) string {
	return fmt.Sprintf("%064b", uint64(v))[64-f.bits:]
}

// ofBits returns an answer that has its bits.
func (f Field) ofBits(got send.Answer, err error) (int64, error) {
	bits, err := numbers(got, err)
	var v uint64
	for _, bit := range bits {
		v = v<<1 | uint64(bit)
	}
	return f.cut(v), err
}

// first returns an answer that is an array of one integer.
func first(got send.Answer, err error) (int64, error) {
	all, err := numbers(got, err)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%d answers to one question", len(all))
	}
	if err != nil {
		return 0, err
	}
	return all[0], nil
}
