// Package interop proves that Go and Java share the same objects: its tests drive this library and the
// real Redisson against one server and look at both sides and at the keys.
//
// The tests have the build tag interop, since they need a JDK, Maven and a redis-server:
//
//	go test -tags interop ./interop/...
//
// Without a JDK or Maven they skip with one line; with RUEIDISSON_REQUIRE_SERVERS=1 they fail instead.
// The Java program is in the folder java, package peer builds, starts and drives it.
//
// # Names of the tests
//
// The table of what is proven, in docs/interop.md, is written from the names, by the command in the folder table:
//
//	TestInterop[...]/<object>/<operation>/<direction>[/<variant>...]
//
//	object, operation   a row, such as lock/exclusion; an underscore is shown as a space
//	direction           go-java: what Go does is seen and obeyed by Java
//	                    java-go: what Java does is seen and obeyed by Go
//	                    both: they do it to each other; counts for both columns
//	variant             where it ran, such as single, cluster, redisson-3.52.0; optional
//
// A test that does not fit is not part of the table, and the command says so. What a reader must know of a
// test that passed stands under the table if the test says it with t.Attr("footnote", "Like this.").
//
// make test-interop fails if that table is not what it has just proven, or if a test was skipped, and
// make interop-table writes what it has proven.
//
// # Where they run
//
// TestInteropSingle and TestInteropCluster each start a world: servers, and JVMs that the tests share. In it
// they run the proofs of every object, one after the other, with the current Redisson, and the essential ones
// again with older ones and, on a cluster, with plain channels. The worlds run beside each other, but for the
// proofs that contend: each of those has the machine alone. Proofs that do next to nothing but wait for leases
// are in a list of their own, and run at the same time. Each object has half a minute, and contests are longer
// in a soak. A new object adds its proofs to those lists, and its keys to what is looked through at the end:
// whatever any test has left must be gone within a minute.
package interop
