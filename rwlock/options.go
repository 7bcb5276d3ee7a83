package rwlock

// An Option changes a handle; see rueidisson.Client.RWLock.
type Option interface{ apply(*Lock) error }

// WithReaderPreference lets readers go before the waiting writers of this handle, which is
// Redisson's order. Under a steady load of readers such a writer may starve. Without the option a
// waiting writer goes before readers that come after it, see the package comment. The option
// belongs on the handle that writes: it changes nothing for readers.
func WithReaderPreference() Option { return preference{} }

type preference struct{}

func (preference) apply(l *Lock) error {
	l.writer.last = true
	return nil
}
