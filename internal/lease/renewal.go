package lease

import (
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Margin is what trust takes off a lease.
var Margin = watchdog.Margin

// Renewal is how the leases of one kind are lengthened: one script for each
// route, slot and kind serves many owners at once.
type Renewal struct {
	// Script answers for each owner in order: 1 renewed, 0 gone, or the text of
	// an error that says neither. It only lengthens leases, so that its replay
	// is safe.
	Script *scripts.Script
	// Add appends what the script has to know of one owner. Its keys are in one
	// slot.
	Add func(keys, args []string, key core.Key, owner string, lease time.Duration) (k, a []string)
	// Apart serves instead while the slot moves, if an owner needs several keys,
	// of which some are here and some there: each of these needs one. An owner
	// stands if all of them say so, in this order.
	Apart []*Renewal
	// Dated says that Add writes the time of the client. A lease then counts from
	// before that, however often the same bytes are sent.
	Dated bool
}

// LockRenewal is that of every lock whose owners are fields of the hash that
// its name is, under one time to live.
var LockRenewal = &Renewal{
	Script: scripts.Must(lua, "lua/renew.lua"),
	Add: func(keys, args []string, key core.Key, owner string, lease time.Duration) (k, a []string) {
		return append(keys, key.Name), append(args, owner, strconv.FormatInt(core.Millis(lease), 10))
	},
}
