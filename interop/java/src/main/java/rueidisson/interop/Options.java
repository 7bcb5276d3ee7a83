package rueidisson.interop;

import java.util.List;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/** The command line, as a Redisson configuration. */
final class Options {
    private static final String USAGE = "usage: (--single URL | --cluster URL,URL...) [--codec NAME] [--watchdog MS] [--sharded AUTO|ON|OFF]";

    private final Config config = new Config();
    private String single;
    private String cluster;
    private String sharded;

    private Options() {
    }

    static Options parse(String[] args) {
        Options options = new Options();
        options.config.setCodec(Codecs.named("String"));
        if (args.length % 2 != 0) {
            throw new IllegalArgumentException(USAGE);
        }
        for (int i = 0; i < args.length; i += 2) {
            options.set(args[i], args[i + 1]);
        }
        options.connect();
        return options;
    }

    Config config() {
        return config;
    }

    private void set(String option, String value) {
        switch (option) {
            case "--single" -> single = value;
            case "--cluster" -> cluster = value;
            case "--sharded" -> sharded = value;
            case "--codec" -> config.setCodec(Codecs.named(value));
            case "--watchdog" -> config.setLockWatchdogTimeout(Long.parseLong(value));
            default -> throw new IllegalArgumentException("unknown option " + option + "; " + USAGE);
        }
    }

    private void connect() {
        if ((single == null) == (cluster == null)) {
            throw new IllegalArgumentException(USAGE);
        }
        config.setNettyThreads(4); // the default, 32, is for a server of its own
        if (single != null) {
            config.useSingleServer().setAddress(single)
                    .setConnectionMinimumIdleSize(4).setSubscriptionConnectionMinimumIdleSize(1);
        } else {
            cluster(config.useClusterServers());
        }
    }

    private void cluster(ClusterServersConfig servers) {
        servers.addNodeAddress(cluster.split(","));
        // By default Redisson reads from replicas, which may be behind: a counter that is read under a lock
        // would seem to lose updates, and isLocked to be wrong.
        servers.setReadMode(ReadMode.MASTER);
        fewIdle(servers);
        if (sharded != null) {
            Class<?> mode = Since.type("org.redisson.config.ShardedSubscriptionMode");
            Since.call(ClusterServersConfig.class, servers, "setShardedSubscriptionMode", List.of(mode), Since.constant(mode, sharded));
        }
    }

    private static void fewIdle(BaseMasterSlaveServersConfig<?> servers) {
        servers.setMasterConnectionMinimumIdleSize(2);
        servers.setSlaveConnectionMinimumIdleSize(1);
        servers.setSubscriptionConnectionMinimumIdleSize(1);
    }
}
