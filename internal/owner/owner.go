// Package owner makes and reads the text that names a lock's holder on the
// server: "<client uuid>:<decimal>", Redisson's shape. Redisson's decimal is a
// Java thread id, a small positive number; ours are drawn from two ranges that
// no thread id reaches, so that the text alone tells a private hold from one
// that was made joinable.
package owner

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
)

// ErrMalformed is wrapped by every error of Parse and ParseClient.
var ErrMalformed = errors.New("not an owner text")

const (
	exportedFrom = int64(1) << 61
	fencedFrom   = exportedFrom + exportedFrom/2 // exported, with a fencing token
	privateFrom  = int64(1) << 62
)

// Class says who may take part in a hold of this owner.
type Class int

const (
	// Foreign owners are Java threads: their holds can be joined.
	Foreign Class = iota
	// Exported owners are holds of this library that were made joinable.
	Exported
	// Private owners are holds of this library that nobody may join.
	Private
)

// ID is a parsed owner text.
type ID struct {
	Client string
	Number int64
}

// Class tells the ranges apart.
func (id ID) Class() Class {
	switch {
	case id.Number >= privateFrom:
		return Private
	case id.Number >= exportedFrom:
		return Exported
	}
	return Foreign
}

// Fence returns the fencing token of an exported hold that has one, else 0: whoever
// joins it has the same.
func (id ID) Fence() int64 {
	if id.Class() != Exported || id.Number < fencedFrom {
		return 0
	}
	return id.Number - fencedFrom
}

// String returns the text as it stands in Redis.
func (id ID) String() string { return format(id.Client, id.Number) }

// Parse reads an owner text. It accepts exactly what String and Redisson write:
// a lower-case uuid, a colon, a decimal without sign or leading zeros.
func Parse(text string) (ID, error) {
	client, number, ok := strings.Cut(text, ":")
	if !ok {
		return ID{}, fmt.Errorf("%w: %q has no colon", ErrMalformed, text)
	}
	if err := ParseClient(client); err != nil {
		return ID{}, err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != number {
		return ID{}, fmt.Errorf("%w: %q does not end in a positive decimal", ErrMalformed, text)
	}
	return ID{Client: client, Number: n}, nil
}

// ParseClient checks a client id: a uuid in its canonical lower-case text.
func ParseClient(id string) error {
	if u, err := uuid.Parse(id); err != nil || u.String() != id {
		return fmt.Errorf("%w: %q is not a lower-case uuid", ErrMalformed, id)
	}
	return nil
}

// NewClient draws a fresh client id, a version 4 uuid.
func NewClient() string { return uuid.NewString() }

// Issuer gives out owners of one client. It starts at a random number, so that
// a process which is restarted under the same client id never meets the owner
// of a hold that it left behind.
type Issuer struct {
	client string
	next   atomic.Uint64
}

// NewIssuer returns the issuer of a client id.
func NewIssuer(client string) *Issuer {
	i := &Issuer{client: client}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // crypto/rand.Read never fails
	i.next.Store(binary.LittleEndian.Uint64(seed[:]))
	return i
}

// Client returns the id whose owners this issuer gives out.
func (i *Issuer) Client() string { return i.client }

// Private returns a fresh owner that nobody may join.
func (i *Issuer) Private() string { return i.issue(privateFrom, privateFrom) }

// Exported returns a fresh owner that others may join.
func (i *Issuer) Exported() string { return i.issue(exportedFrom, fencedFrom-exportedFrom) }

// ExportedFenced returns the owner that others may join of the hold that has a
// fencing token: the only one of its lock with that.
func (i *Issuer) ExportedFenced(token int64) string {
	return format(i.client, fencedFrom+token&(privateFrom-fencedFrom-1))
}

// issue counts within [from, from+room); room is a power of two.
func (i *Issuer) issue(from, room int64) string {
	return format(i.client, from|int64(i.next.Add(1))&(room-1))
}

func format(client string, n int64) string {
	var buf [64]byte
	text := append(append(buf[:0], client...), ':')
	return string(strconv.AppendInt(text, n, 10))
}
