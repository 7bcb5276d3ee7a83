package rwlock

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
