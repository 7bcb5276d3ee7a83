package rwlock

import (
	"fmt"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// An Option changes a handle; see rueidisson.Client.RWLock.
type Option interface{ apply(*Lock) error }

// WithReaderPreference lets readers go before the writers of this handle that wait,
// which is Redisson's order: under a steady load of readers such a writer may
// starve. Without it a writer that waits goes before readers that come after it,
// see the package's page. It is for the handle that writes: readers ask for nothing.
func WithReaderPreference() Option { return preference{} }

type preference struct{}

func (preference) apply(l *Lock) error {
	l.writer.last = true
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
