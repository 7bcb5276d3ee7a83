package rwlock

import (
	"fmt"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// An Option changes a handle; see rueidisson.Client.RWLock.
type Option interface{ apply(*Lock) error }

// WithWriterPreference lets the writers of this handle go before readers that
// come after them: while one of them waits, no reader of this library starts,
// whatever its handle's options. It says so in Redis every half a second, for a
// second, so that a writer which dies stops holding readers back within one
// second. Readers do not starve: those who waited during a write go first after
// it, for 20 ms.
//
// Redisson's readers know nothing of it, and are not held back.
func WithWriterPreference() Option { return preference{} }

type preference struct{}

func (preference) apply(l *Lock) error {
	l.writer.first = true
	return nil
}

func (l *Lock) configure(opts []Option) error {
	for _, o := range opts {
		if o == nil {
			return fmt.Errorf("%w: a nil option", engine.ErrOption)
		}
		if err := o.apply(l); err != nil {
			return err
		}
	}
	return nil
}
