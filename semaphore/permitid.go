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

// permitNames is one semaphore on the server whose permits have leases. It tells the engine how
// they are renewed and released.
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

// permitLabel is the name of permits with leases for the engine and the observer.
const permitLabel = "permit"

// Key names the semaphore to the engine.
func (of *permitNames) Key() core.Key { return core.Key{Kind: permitLabel, Name: of.key} }

// sizes of an id.
const (
	idBytes     = 16
	clientBytes = idBytes / 2 // the first bytes are the client's
)

// newID returns a new, unique id of a permit, as it is stored in Redis.
func (i *permitShared) newID() string {
	var id [idBytes]byte
	copy(id[:], i.client)
	binary.LittleEndian.PutUint64(id[clientBytes:], rand.Uint64())
	return string(id[:])
}

// raw returns the id as it is stored in Redis.
func raw(id string) string {
	bytes, _ := hex.DecodeString(id) // parseID has seen it
	return string(bytes)
}

func text(raw string) string { return hex.EncodeToString([]byte(raw)) }

// parseID refuses a text that is not an id: 32 lower-case hex digits, as Java writes them.
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
	// Remaining is how long its lease lasts without another renewal, by the server's clock; -1 if
	// it never expires, which is possible in Java.
	Remaining time.Duration
	// Own says that this client acquired it.
	Own bool
	// Label is the label that [WithLabel] gave it when it was acquired.
	Label string
}
