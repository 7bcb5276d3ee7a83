package bitset

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Set is a handle on the bits of one name, which Redisson's RBitSet shares. It
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same bits.
type Set struct{ o whole.Object }

// New returns a handle on the bitset of that name.
func New(c Client, name string) *Set {
	e := c.Engine()
	o := whole.New(e, "bitset", "string", name, whole.Alone)
	o.Bad = object.CheckAlone(e, o.Key)
	return &Set{o}
}

// Bits is how many bits a bitset has room for: the offset of each is below it.
const Bits = 1 << 32

const (
	mostOffsets = 4096    // of one call
	mostFilled  = 2 << 20 // bits of one call
	mostLooked  = 4 << 20 // bytes of one call
	mostNames   = 1000    // of one operation on several bitsets
	piece       = 256 << 10
)

// Get returns the bit at each of the offsets. What lies after the end is false, and so is all of a bitset that does not
// exist. Bits of one call to the server are of one moment.
//
// Cost: one command for each 4,096 offsets. Errors: [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the
// network's. Source: RBitSet.get.
func (s *Set) Get(ctx context.Context, offsets ...int64) (bits []bool, err error) {
	bits, err = s.each(ctx, offsets, func(some []int64) ([]int64, error) {
		if len(some) == 1 {
			return only(read(ctx, s, send.Number, getbit, decimal(some[0])))
		}
		got, err := read(ctx, s, numbers, bitfieldRO, fieldsOf("GET", some)...)
		if send.UnknownCommand(err) {
			got, err = read(ctx, s, numbers, getScript, decimals(some)...)
		}
		return got, err
	})
	return bits, s.o.Failed("get bits of", err)
}

// Set makes the bit at each of the offsets 1, and returns what they were. The server makes room for all bits up to the
// highest offset: 512 MB for the last one that there is. Bits of one call to the server are set together, and sent once.
// After an error those of some calls may be set, and others not.
//
// Cost: one command for each 4,096 offsets. Errors: [ErrOutcomeUnknown]; [ErrInvalidArgument]; ctx's error and cause;
// [ErrClosed]; Redis' and the network's. Source: RBitSet.set.
func (s *Set) Set(ctx context.Context, offsets ...int64) (was []bool, err error) {
	was, err = s.each(ctx, offsets, func(some []int64) ([]int64, error) {
		if len(some) == 1 {
			return only(write(ctx, s, send.Number, setbit, decimal(some[0]), "1"))
		}
		got, err := write(ctx, s, numbers, bitfield, fieldsOf("SET", some, "1")...)
		if send.UnknownCommand(err) {
			got, err = s.write(ctx, strings.Repeat("1", len(some)), some)
		}
		return got, err
	})
	return was, s.o.Failed("set bits of", err)
}

// Clear makes the bit at each of the offsets 0, and returns what they were. It makes no room for bits that are after the
// end: they are 0. Else it is as Set.
//
// Cost: one script call for each 4,096 offsets. Errors: as Set. Source: RBitSet.clear.
func (s *Set) Clear(ctx context.Context, offsets ...int64) (was []bool, err error) {
	was, err = s.each(ctx, offsets, func(some []int64) ([]int64, error) {
		return s.write(ctx, strings.Repeat("0", len(some)), some)
	})
	return was, s.o.Failed("clear bits of", err)
}

// write writes bits by the script.
func (s *Set) write(ctx context.Context, bits string, at []int64) ([]int64, error) {
	return write(ctx, s, numbers, writeScript, append([]string{bits}, decimals(at)...)...)
}

// each calls do for as many of the offsets as one call has, and returns all of its answers.
func (s *Set) each(ctx context.Context, offsets []int64, do func(some []int64) ([]int64, error)) ([]bool, error) {
	if err := s.usable(ctx, offsets...); err != nil {
		return nil, err
	}
	bits := make([]bool, 0, len(offsets))
	for some := range slices.Chunk(offsets, mostOffsets) {
		got, err := do(some)
		if err == nil && len(got) != len(some) {
			err = fmt.Errorf("%d answers to %d bits", len(got), len(some))
		}
		if err != nil {
			return nil, err
		}
		for _, bit := range got {
			bits = append(bits, bit != 0)
		}
	}
	return bits, nil
}

// SetRange makes all bits from an offset up to another one, without that, 1. Up to 2,097,152 bits are one step. More
// are done in pieces of so many, from the highest to the lowest, and after an error some of them may be set, and others
// not.
//
// Cost: one script call for each 2,097,152 bits, in which the server writes 256 KB: about a millisecond. Errors: as Set. Source:
// RBitSet.set(from, to), which sends a command for each bit.
func (s *Set) SetRange(ctx context.Context, from, to int64) error {
	return s.o.Failed("set a range of", s.fill(ctx, "1", from, to))
}

// ClearRange makes all bits from an offset up to another one, without that, 0. It ends where the bitset ends. Else it is as
// SetRange.
//
// Cost and errors: as SetRange. Source: RBitSet.clear(from, to).
func (s *Set) ClearRange(ctx context.Context, from, to int64) error {
	return s.o.Failed("clear a range of", s.fill(ctx, "0", from, to))
}

func (s *Set) fill(ctx context.Context, bit string, from, to int64) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if from < 0 || from > to || to > Bits {
		return fmt.Errorf("%w: range from %d to %d: bits are from 0 to %d", ErrInvalidArgument, from, to, int64(Bits))
	}
	for to > from {
		first := max(from, to-mostFilled)
		if _, err := write(ctx, s, send.Yes, fillScript, bit, decimal(first), decimal(to)); err != nil {
			return err
		}
		to = first
	}
	return nil
}

// Count returns how many bits are 1. Up to 4 MB, which are 33,554,432 bits, are counted in one step. A longer bitset may
// change between two steps.
//
// Cost: one script call for each 4 MB. Errors: [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the
// network's. Source: RBitSet.cardinality.
func (s *Set) Count(ctx context.Context) (n int64, err error) {
	for at := int64(0); ; {
		got, err := read(ctx, s, numbers, countScript, decimal(at), decimal(mostLooked))
		if err == nil && len(got) != 2 {
			err = fmt.Errorf("%d answers of a count", len(got))
		}
		if err != nil {
			return 0, s.o.Failed("count", err)
		}
		if n, at = n+got[0], got[1]; at == 0 {
			return n, nil
		}
	}
}

// Len returns the offset of the highest bit that is 1, plus 1; 0 if there is none. It looks from the end to the start. The
// last 4 MB are looked at in one step; more zeros at the end may change between two steps.
//
// Cost: one script call, and one more for each 4 MB of zeros at the end. Errors: as Count. Source: RBitSet.length.
func (s *Set) Len(ctx context.Context) (n int64, err error) {
	for at := int64(-1); ; at = -n {
		n, err = read(ctx, s, send.Number, lengthScript, decimal(at), decimal(mostLooked))
		if err != nil || n >= 0 {
			return n, s.o.Failed("measure", err)
		}
	}
}

// Bytes returns all bits, eight in a byte: the highest bit of the first byte has offset 0. A bitset of more than 256 KB is
// read in pieces of that length, between which it may change.
//
// Cost: one command for each 256 KB. Errors: as Count. Source: RBitSet.toByteArray.
func (s *Set) Bytes(ctx context.Context) (all []byte, err error) {
	for {
		text, err := read(ctx, s, text, getrange, decimal(int64(len(all))), decimal(int64(len(all))+piece-1))
		if err != nil {
			return nil, s.o.Failed("read", err)
		}
		if all = append(all, text...); len(text) < piece {
			return all, nil
		}
	}
}

// And leaves those bits 1 that are 1 in the bitsets of all of the names, too. Without names it does nothing. It is one
// step, keeps the time to live, and is sent once. On a cluster the names share a hash tag, such as a:{1} and b:{1}.
//
// Cost: one script call, in which the server reads all of the bitsets: 65 ms for 64 MB. Errors: as Set, and [ErrSlotMoving].
// Source: RBitSet.and, which drops the time to live.
func (s *Set) And(ctx context.Context, names ...string) error { return s.combine(ctx, "AND", names) }

// Or makes those bits 1 that are 1 in the bitset of one of the names. Else it is as And.
//
// Cost and errors: as And. Source: RBitSet.or.
func (s *Set) Or(ctx context.Context, names ...string) error { return s.combine(ctx, "OR", names) }

// Xor makes those bits 1 that are 1 in an odd number of the bitsets: this one, and those of the names. Else it is as And.
//
// Cost and errors: as And. Source: RBitSet.xor.
func (s *Set) Xor(ctx context.Context, names ...string) error { return s.combine(ctx, "XOR", names) }

// Not turns each bit over, up to the end of the last byte: what was never written stays 0. Else it is as And.
//
// Cost and errors: as And. Source: RBitSet.not.
func (s *Set) Not(ctx context.Context) error { return s.combined(ctx, "NOT", nil) }

func (s *Set) combine(ctx context.Context, how string, names []string) error {
	if len(names) == 0 {
		return s.o.Failed(strings.ToLower(how), s.usable(ctx))
	}
	return s.combined(ctx, how, names)
}

// combined runs an operation on this bitset and those of the names.
func (s *Set) combined(ctx context.Context, how string, names []string) error {
	keys, err := s.keysOf(ctx, names)
	if err == nil {
		_, err = whole.WriteBriefly(ctx, &s.o, send.Yes, combineScript, keys, how)
	}
	return s.o.Failed(strings.ToLower(how), err)
}

// keysOf returns the key of this bitset, and those of others.
func (s *Set) keysOf(ctx context.Context, names []string) ([]string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if len(names) > mostNames {
		return nil, fmt.Errorf("%w: %d names: %d at most", ErrInvalidArgument, len(names), mostNames)
	}
	keys, e := []string{s.o.Key}, s.o.Engine
	for _, name := range names {
		key := e.Map(name)
		err := object.CheckAlone(e, key)
		if err == nil && e.Cluster() && !e.SameSlot(s.o.Key, key) {
			err = fmt.Errorf("%w: it is in another slot of the cluster: give the names one hash tag", ErrInvalidArgument)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", object.Quoted(name), err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// usable checks what every operation needs, and offsets.
func (s *Set) usable(ctx context.Context, offsets ...int64) error {
	if err := s.o.Usable(ctx); err != nil {
		return err
	}
	for _, at := range offsets {
		if at < 0 || at >= Bits {
			return fmt.Errorf("%w: offset %d is outside of 0 to %d", ErrInvalidArgument, at, int64(Bits-1))
		}
	}
	return nil
}

// read sends what changes nothing.
func read[A any](ctx context.Context, s *Set, as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = s.o.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.Read(ctx, &s.o, as, op, args...)
}

// write sends what changes the bitset. It may be done still when ctx has ended.
func write[A any](ctx context.Context, s *Set, as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = s.o.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.WriteBriefly(ctx, &s.o, as, op, s.o.Keys, args...)
}

// numbers returns an answer that is an array of integers.
func numbers(got send.Answer, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	return got.AsIntSlice()
}

// only makes a list of one answer.
func only(n int64, err error) ([]int64, error) { return []int64{n}, err }

func text(got send.Answer, err error) (string, error) {
	all, _, err := send.Text(got, err)
	return all, err
}

// fieldsOf returns the words of a command about the bit at each of the offsets.
func fieldsOf(word string, offsets []int64, value ...string) []string {
	words := make([]string, 0, 4*len(offsets))
	for _, at := range offsets {
		words = append(append(words, word, "u1", decimal(at)), value...)
	}
	return words
}

func decimals(all []int64) []string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = decimal(n)
	}
	return words
}

// decimal returns a number for commands.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
