package topic

import "github.com/rueidisson/rueidisson/internal/scripts"

// A message that was perhaps published is not published again.
var (
	publish        = scripts.NewCommand("PUBLISH", scripts.Unsafe)
	publishSharded = scripts.NewCommand("SPUBLISH", scripts.Unsafe)
	count          = scripts.NewCommand("PUBSUB NUMSUB", scripts.Safe)
	countSharded   = scripts.NewCommand("PUBSUB SHARDNUMSUB", scripts.Safe)
)
