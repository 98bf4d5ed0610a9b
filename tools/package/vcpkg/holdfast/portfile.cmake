# Not run here: vcpkg fetches the ports that this one stands on from its own servers.
# An overlay port of the checkout that it lies in: vcpkg install holdfast --overlay-ports=CHECKOUT/tools/package/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DHOLDFAST_BUILD_HARNESS=OFF
        -DHOLDFAST_BUILD_EXAMPLES=OFF
        "-DHOLDFAST_HIREDIS_ROOT=${CURRENT_INSTALLED_DIR}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/holdfast)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
