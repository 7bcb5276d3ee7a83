package semaphore

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
)

// permitNames is one semaphore whose permits have leases, as the server sees it.
// It says to the engine how they are kept and given back.
type permitNames struct {
	i       *permitShared
	name    string // as the caller wrote it
	key     string // the mapped name
	leases  string
	gone    string // tombstones
	labels  string
	channel string
}

var _ lease.Protocol = (*permitNames)(nil)

// permitLabel is what the engine and the observer call permits with leases.
const permitLabel = "permit"

// Key names the semaphore to the engine.
func (of *permitNames) Key() core.Key { return core.Key{Kind: permitLabel, Name: of.key} }

// sizes of an id.
const (
	idBytes     = 16
	clientBytes = idBytes / 2 // of which the first are the client's
)

// newID returns the id of a permit as it stands in Redis, which no other ever has.
func (i *permitShared) newID() string {
	var id [idBytes]byte
	copy(id[:], i.client)
	binary.LittleEndian.PutUint64(id[clientBytes:], rand.Uint64())
	return string(id[:])
}

// raw returns the id as it stands in Redis.
func raw(id string) string {
	bytes, _ := hex.DecodeString(id) // parseID has seen it
	return string(bytes)
}

func text(raw string) string { return hex.EncodeToString([]byte(raw)) }

// parseID refuses what is no id: 32 lower-case hex digits, as Java writes them.
func parseID(id string) error {
	if len(id) != 2*idBytes || strings.Trim(id, "0123456789abcdef") != "" {
		return fmt.Errorf("%w: permit id %q is not 32 hex digits", ErrInvalidArgument, id)
	}
	return nil
}

// PermitInfo is one permit that is held.
type PermitInfo struct {
	// ID is 32 hex digits, for [PermitSemaphore.ReleaseID] here or in Java.
	ID string
	// Remaining is how long its lease lasts without another renewal, by the
	// server's clock; -1: it has no end, as Java can have it.
	Remaining time.Duration
	// Own says that it was acquired by this client.
	Own bool
	// Label is what [WithLabel] gave it when it was acquired.
	Label string
}
