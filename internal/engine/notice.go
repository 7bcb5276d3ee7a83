package engine

import "errors"

// ErrNotice is wrapped by an error of a sequence after which the sequence goes on.
var ErrNotice = errors.New("notice: the sequence goes on")

// Notice marks the error of a sequence that goes on. Its text stays as it is.
func Notice(err error) error {
	if err == nil {
		return nil
	}
	return notice{err}
}

type notice struct{ error }

func (n notice) Unwrap() []error { return []error{n.error, ErrNotice} }
