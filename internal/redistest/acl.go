package redistest

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/rueidis"
)

var aclRule = regexp.MustCompile("(?s)```\n(ACL SETUSER orders.*?)```")

// UserOfThePage returns the command by which the page, docs/redis.md as it is seen from the test, sets up the user "orders",
// whose password is "password". With additions that the page names for a topology or an option, such as "+wait".
func UserOfThePage(t testing.TB, page string, additions ...string) (command []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rule := aclRule.FindSubmatch(text)
	if rule == nil {
		t.Fatalf("redistest: there is no ACL in %s", page)
	}
	command = strings.Fields(string(rule[1]))
	for _, addition := range additions {
		if !bytes.Contains(text, []byte("`"+addition+"`")) {
			t.Fatalf("redistest: %s does not name `%s`", page, addition)
		}
		command = append(command, strings.Fields(addition)...)
	}
	return command
}

// ConfinedOn sets up the user of the page on each node of a cluster, with what the page adds for one, and is how clients
// become that user. When the test ends, no node must have denied it anything.
func ConfinedOn(t testing.TB, c *Cluster, page string) func(*rueidis.ClientOption) {
	t.Helper()
	rule := UserOfThePage(t, page, "+cluster +asking", "+spublish +ssubscribe")
	for _, node := range c.Nodes() {
		c.command(node, rule...)
		t.Cleanup(func() {
			if denied := c.command(node, "ACL", "LOG").([]any); len(denied) > 0 {
				t.Errorf("redistest: denied under the user of %s on %s: %v", page, node.Addr(), denied)
			}
		})
	}
	return func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" }
}
