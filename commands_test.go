package rueidisson_test

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/page"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var update = flag.Bool("update", false, "write the table of commands into docs/redis.md instead of comparing it")

// TestCommandsOfThePageAreThoseOfTheObjects compares the table "Commands" of docs/redis.md with what the checks of the objects
// ask for. To write the table:
//
//	go test . -run TestCommandsOfThePage -update
func TestCommandsOfThePageAreThoseOfTheObjects(t *testing.T) {
	t.Parallel()
	c := connected(t, redistest.Start(t, redistest.Version("8.0"), redistest.JSON()).Client(t)) // which has all kinds
	var table strings.Builder
	table.WriteString("| object | keys and their types | channels | commands |\n|---|---|---|---|\n")
	for _, label := range slices.Sorted(maps.Keys(checkedKinds)) {
		object := checkedKinds[label].make(c, "name")
		require.NoError(t, object.Check(t.Context()), label)
		table.WriteString(rowOf(label, needsOf(t, object), c))
	}
	const file, part = "docs/redis.md", "commands"
	if *update {
		require.NoError(t, page.Write(file, part, table.String()))
	}
	require.NoError(t, page.Check(file, part, table.String(), "what the checks of the objects ask for (go test . -run TestCommandsOfThePage -update)"))
}

// rowOf returns the row of a kind of object whose name is "name".
func rowOf(label string, needs []check.Need, c *rueidisson.Client) string {
	shown := strings.NewReplacer(c.ID(), "<client id>", "{u1}", "{<key>}", "{u}", "{<key>}", "t6rZwibGo2uy1OSmNVe8pg", "<hash of the key>")
	var keys, channels, commands []string
	for _, n := range needs {
		name := n.Key + n.Channel
		if n.Each || strings.HasSuffix(name, ":0") {
			name = strings.TrimSuffix(name, "0") + "*"
		}
		name = "`" + shard.ReplaceAllString(shown.Replace(name), "{name:<n>}") + "`"
		switch {
		case n.Key != "":
			keys = append(keys, strings.TrimSpace(name+" "+n.Type))
		case n.Channel != "":
			channels = append(channels, name)
		}
		commands = append(commands, strings.ReplaceAll(n.Command, "|", " "))
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", label, listed(keys, "<br>"), listed(channels, "<br>"), listed(commands, ", "))
}

var shard = regexp.MustCompile(`\{name:\d+\}`)

// list returns each word once, in order.
func listed(words []string, between string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), between)
}
