package redistest

import (
	"context"
	"iter"
	"testing"
)

// SoonContext returns a context that ends with the test, or when Soon has passed.
func SoonContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Soon)
	t.Cleanup(cancel)
	return ctx
}

// Yielded returns what a sequence yields up to its first error, by what each is of it.
func Yielded[T any](all iter.Seq2[T, error], text func(T) string) (got []string, err error) {
	for v, err := range all {
		if err != nil {
			return got, err
		}
		got = append(got, text(v))
	}
	return got, nil
}

// FirstError returns the first error of a sequence, or nil.
func FirstError[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
