package paging

import (
	"hash/maphash"
	"sync/atomic"
)

// Size is about how many bytes a value of a name has, by the values that were seen of it; 0: none was. Answers that come at
// the same time may lose one of their measures, which does no harm.
type Size struct{ atomic.Int64 }

// Saw takes n values of so many bytes into the size.
func (s *Size) Saw(bytes, n int) {
	if n == 0 {
		return
	}
	old, now := s.Load(), int64(max(bytes/n, 1))
	if now > old {
		s.Store(now) // a large batch is late at once
		return
	}
	s.Store(old - (old-now)/8)
}

// sizes is for how many names the sizes of their values are kept apart. Others
// share them, as the memory of a process must not grow with every name.
const sizes = 256

// Sizes is the sizes of the values of names.
type Sizes struct {
	seed maphash.Seed
	all  [sizes]Size
}

// NewSizes returns sizes of names of which no value was seen.
func NewSizes() *Sizes { return &Sizes{seed: maphash.MakeSeed()} }

// Of returns the size of the values of a name.
func (s *Sizes) Of(name string) *Size { return &s.all[maphash.String(s.seed, name)%sizes] }
