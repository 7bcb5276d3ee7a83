package queue

import "github.com/rueidisson/rueidisson/internal/scripts"

var (
	boundedOffer    = scripts.Must(lua, "lua/bounded_offer.lua")
	boundedPoll     = scripts.Must(lua, "lua/bounded_poll.lua")
	boundedRemove   = scripts.Must(lua, "lua/bounded_remove.lua")
	boundedCapacity = scripts.Must(lua, "lua/bounded_capacity.lua")

	getCommand = scripts.NewCommand("GET", scripts.Safe)
)
